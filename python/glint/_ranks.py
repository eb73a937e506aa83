"""Several processes that train one model: a communicator of mpi4py as the library needs it."""

from __future__ import annotations

from collections import deque
from typing import Any

from .errors import UsageError

# Sends that nobody will receive after an error. MPI may still look at their bytes, so they stay.
_unsent: list[Any] = []


class Ranks:
    """One rank. Called by `_core`, always in the thread that made the call; a context that frees what it took."""

    def __init__(self, comm: Any) -> None:
        try:
            # Communicators of our own, so that nothing else can take the messages.
            self._data, self._words = comm.Dup(), comm.Dup()
            self.rank, self.size = int(self._data.Get_rank()), int(self._data.Get_size())
        except (AttributeError, TypeError) as e:
            raise UsageError(f"a group that is {type(comm).__name__}", "group=", "a communicator, as mpi4py.MPI.COMM_WORLD") from e
        # By direction, rank and tag, in which messages arrive in order: (ticket, request).
        self._queues: dict[tuple[str, int, int], deque[tuple[int, Any]]] = {}
        self._told: list[Any] = []

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        for key in self._queues:
            for ticket, _request in list(self._queues[key]):
                self.abandon(ticket)
        _unsent.extend(r for r in self._told if not r.Test())
        self._data.Free()
        self._words.Free()

    def _keep(self, way: str, other: int, tag: int, ticket: int, request: Any) -> None:
        self._queues.setdefault((way, other, tag), deque()).append((ticket, request))

    def send(self, ticket: int, to: int, tag: int, view: memoryview) -> None:
        # A copy, which lives as long as the request: after an error the bytes themselves may go first.
        self._keep("send", to, tag, ticket, self._data.Isend(bytearray(view), dest=to, tag=tag))

    def receive(self, ticket: int, source: int, tag: int, view: memoryview) -> None:
        self._keep("receive", source, tag, ticket, self._data.Irecv(view, source=source, tag=tag))

    def finished(self) -> list[int]:
        """The tickets that are over since the last question."""
        over = []
        for queue in self._queues.values():
            while queue and queue[0][1].Test():
                over.append(queue.popleft()[0])
        return over

    def abandon(self, ticket: int) -> None:
        """Nothing is written to the bytes of this ticket any more."""
        for (way, _, _), queue in self._queues.items():
            for entry in [e for e in queue if e[0] == ticket]:
                queue.remove(entry)
                request = entry[1]
                if request.Test():
                    continue
                if way == "send":
                    _unsent.append(request)
                else:
                    request.Cancel()
                    request.Wait()

    def tell(self, to: int, word: bytes) -> None:
        self._told.append(self._words.isend((self.rank, word), dest=to))

    def heard(self) -> tuple[int, bytes] | None:
        message = self._words.improbe()
        return None if message is None else message.recv()

    def abort(self, code: int) -> None:
        self._data.Abort(code)
