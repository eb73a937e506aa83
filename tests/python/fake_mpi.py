"""Communicators that are threads of one process, with the methods of mpi4py that glint calls."""

from __future__ import annotations

import threading
from collections import defaultdict, deque


class _World:
    def __init__(self, size):
        self.size, self.lock = size, threading.Lock()
        self.messages = defaultdict(deque)  # (source, destination, tag): bytes
        self.words = defaultdict(deque)  # destination: objects
        self.copies = []  # worlds that Dup made, the same for every rank


class _Sent:
    def Test(self):
        return True


class _Receive:
    def __init__(self, comm, view, source, tag):
        self.comm, self.view, self.key = comm, view, (source, comm.rank, tag)
        self.over = False

    def Test(self):
        if self.over:
            return True
        with self.comm.world.lock:
            if not self.comm.world.messages[self.key]:
                return False
            message = self.comm.world.messages[self.key].popleft()
        assert len(message) == len(self.view)
        self.view[:] = message
        self.over = True
        return True

    def Cancel(self):
        self.over = True

    def Wait(self):
        assert self.over


class _Message:
    def __init__(self, value):
        self.value = value

    def recv(self):
        return self.value


class Comm:
    def __init__(self, world, rank):
        self.world, self.rank, self.made, self.freed = world, rank, 0, False

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.world.size

    def Dup(self):
        with self.world.lock:
            if self.made == len(self.world.copies):
                self.world.copies.append(_World(self.world.size))
            copy = self.world.copies[self.made]
        self.made += 1
        return Comm(copy, self.rank)

    def Free(self):
        self.freed = True

    def Isend(self, view, dest, tag):
        with self.world.lock:
            self.world.messages[self.rank, dest, tag].append(bytes(view))
        return _Sent()

    def Irecv(self, view, source, tag):
        return _Receive(self, view, source, tag)

    def isend(self, value, dest):
        with self.world.lock:
            self.world.words[dest].append(value)
        return _Sent()

    def improbe(self):
        with self.world.lock:
            words = self.world.words[self.rank]
            return _Message(words.popleft()) if words else None


def on_ranks(size, body):
    """body(comm) on a thread for each rank: what each gave, or what it raised."""
    world = _World(size)
    back = [None] * size

    def one(rank):
        try:
            back[rank] = body(Comm(world, rank))
        except BaseException as e:  # noqa: BLE001 - the test looks at it
            back[rank] = e

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(300)
        assert not t.is_alive(), "a rank hangs"
    return back
