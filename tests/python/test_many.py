"""Many processes: plans whose jobs run anywhere, and one model trained by several ranks."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake_mpi import on_ranks

import glint

SMALL = dict(epochs=1, d_model=16, progress=False)
STORIES = dict(epochs=1, layers=1, d_model=16, d_hidden=16, heads=2, context=32, batch=64, micro_batch=5, progress=False)


def weights(path):
    return Path(path, "model.safetensors").read_bytes()


# Plans.


def test_the_jobs_of_a_sweep_run_in_other_processes(tmp_path):
    plan = glint.plan(glint.sweep, "quick", gate=["sqs", "identity"], lam=[0.1, 0.5], out=tmp_path / "jobs", **SMALL)
    assert len(plan) == 3 and plan.table().columns["finished"] == [False] * 3 and "<table>" in plan._repr_html_()
    assert not os.path.exists(tmp_path / "jobs")  # a plan writes nothing
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        runs = pool.map(glint.Job.run, plan)
    assert [r.config["gate"] for r in runs] == ["sqs", "sqs", "identity"]
    trained = {run.path: os.stat(os.path.join(run.path, "model.safetensors")).st_mtime_ns for run in runs}
    result = plan.result()
    assert len(result.runs) == 3 and result.answer
    for path, at in trained.items():
        assert os.stat(os.path.join(path, "model.safetensors")).st_mtime_ns == at  # not trained again
    alone = glint.sweep("quick", gate=["sqs", "identity"], lam=[0.1, 0.5], out=tmp_path / "alone", **SMALL)
    same = [{k: v for k, v in r.table().columns.items() if not k.startswith("seconds")} for r in (alone, result)]
    assert same[0] == same[1]
    for path in trained:
        assert weights(path) == weights(tmp_path / "alone" / os.path.relpath(path, tmp_path / "jobs"))


def test_a_job_is_a_command_too(program, tmp_path):
    plan = glint.plan(glint.train, "quick", seeds=[3], out=tmp_path / "by", **SMALL)
    assert plan[0].command.startswith("glint train quick") and "--seed 3" in plan[0].command
    by_job = weights(plan[0].run().path)
    shutil.rmtree(tmp_path / "by")
    subprocess.run(plan[0].command.replace("glint", program, 1), shell=True, check=True, capture_output=True)
    assert weights(plan[0].out) == by_job
    assert glint.plan(glint.train, "quick", seeds=[3], out=tmp_path / "by", **SMALL).table().columns["finished"] == [True]


def test_plans_of_trainings_and_of_the_paper(tmp_path):
    plan = glint.plan(glint.train, "quick", seeds=range(3), out=tmp_path / "three", **SMALL)
    assert [job.options["seed"] for job in plan] == ["0", "1", "2"]
    job = pickle.loads(pickle.dumps(plan[2]))
    assert job == plan[2] and job.run().config["seed"] == 2
    paper = glint.plan(glint.reproduce, "table1", quick=True, out=tmp_path / "paper")
    assert len(paper) > 5 and all(job.out.startswith(os.fspath(tmp_path)) for job in paper)
    for bad in (
        lambda: glint.plan(glint.load, "x"),
        lambda: glint.plan(glint.train, "quick"),
        lambda: glint.plan(glint.train, "quick", out="x", group=object()),
        lambda: glint.plan(glint.sweep, "quick", out="x", d_modle=[1, 2]),
        lambda: glint.plan(glint.reproduce, "table1", out="x", nothing=1),
    ):
        with pytest.raises(glint.UsageError):
            bad()


def test_data_in_memory_go_with_their_jobs(tmp_path):
    rng = np.random.default_rng(0)
    data = glint.Vectors(rng.normal(size=(200, 3)), rng.integers(0, 2, 200), names=["no", "yes"])
    (job,) = glint.plan(glint.train, data=data, seeds=[0], batch=50, noise_prob=0.0, out=tmp_path, **SMALL)
    sent = pickle.loads(pickle.dumps(job))
    np.testing.assert_array_equal(sent.data.X, data.X)
    np.testing.assert_array_equal(sent.data.test[1], data.test[1])
    run = pickle.loads(pickle.dumps(sent.run()))
    assert run.class_names == ["no", "yes"] and run.read("yes").vectors.shape[1] == 16
    with pytest.raises(glint.UsageError, match="temporary"):
        pickle.dumps(glint.train("quick", **SMALL))


# Ranks.


def test_several_ranks_give_the_bytes_of_one(tmp_path):
    alone = glint.train("quick", out=tmp_path / "alone", **SMALL)
    tales = glint.train("tales", out=tmp_path / "tales", **STORIES)
    for size in (1, 2, 3):
        steps = []

        def images(comm, size=size, steps=steps):
            return glint.train("quick", out=tmp_path / f"images-{size}", group=comm, on_step=lambda row: steps.append((comm.rank, row["step"])), **SMALL)

        back = on_ranks(size, images)
        assert [isinstance(r, glint.Run) for r in back] == [True] + [False] * (size - 1), back
        assert weights(back[0].path) == weights(alone.path)
        assert back[0].about["run"]["machine"]["ranks"] == size
        assert steps == [(0, s + 1) for s in range(len(steps))] and steps  # rank 0 alone speaks
        back = on_ranks(size, lambda comm: glint.train("tales", out=tmp_path / f"tales-{size}", group=comm, **STORIES))
        assert weights(back[0].path) == weights(tales.path)


def test_an_error_of_a_rank_is_raised_at_all(tmp_path):
    def other_options(comm):
        return glint.train("quick", out=tmp_path / "other", lr=0.5 if comm.rank == 2 else 0.001, group=comm, **SMALL)

    back = on_ranks(3, other_options)
    assert all(isinstance(e, glint.UsageError) and "rank 2 of 3 has options.lr 0.5" in e.what for e in back), back

    def no_data(comm):
        return glint.train("quick", out=tmp_path / "blind", data="glyphs" if comm.rank != 1 else "no-such-data", group=comm, **SMALL)

    back = on_ranks(3, no_data)
    assert all(isinstance(e, glint.UsageError) for e in back), back
    assert "rank 1 of 3" in back[0].what and "no-such-data" in back[0].what
    # The communicator is as good as before.
    assert isinstance(on_ranks(2, lambda comm: (glint.train("quick", out=tmp_path / "after", group=comm, **SMALL)))[0], glint.Run)


def test_what_a_callback_raises_stops_all_and_the_run_goes_on(tmp_path):
    class Mine(Exception):
        pass

    def raising(row):
        if row["step"] == 2:
            raise Mine

    back = on_ranks(2, lambda comm: glint.train("quick", out=tmp_path / "stopped", group=comm, on_step=raising, **SMALL))
    assert isinstance(back[0], Mine) and isinstance(back[1], glint.Interrupted), back
    assert glint.runs(tmp_path).columns["state"] == ["stopped"]
    back = on_ranks(3, lambda comm: glint.train("quick", out=tmp_path / "stopped", group=comm, **SMALL))
    assert weights(back[0].path) == weights(glint.train("quick", out=tmp_path / "alone", **SMALL).path)


def test_what_is_no_communicator_is_refused():
    for group in (3, "world", object(), [1]):
        with pytest.raises(glint.UsageError, match="group"):
            glint.train("quick", group=group, **SMALL)


MPI_PROGRAM = """
import sys, glint
from mpi4py import MPI
run = glint.train("tales", out=sys.argv[1], group=MPI.COMM_WORLD, epochs=1, layers=1, d_model=16, d_hidden=16, heads=2,
                  context=32, batch=64, micro_batch=5, progress=False)
assert (run is None) == (MPI.COMM_WORLD.rank > 0)
try:
    glint.train("quick", out=sys.argv[1] + "-bad", epochs=1, lr=0.1 + MPI.COMM_WORLD.rank, group=MPI.COMM_WORLD, progress=False)
except glint.UsageError as e:
    assert "rank 1" in e.what, e
    sys.stdout.write(f"refused {MPI.COMM_WORLD.allreduce(1)}\\n")  # in one piece: ranks share the output. MPI goes on working
"""


def test_mpi4py_under_mpirun(tmp_path):
    if importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None:
        pytest.skip("mpi4py or mpirun is not installed")
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_hwloc_base_binding_policy="none")
    words = [sys.executable, "-c", "from mpi4py import MPI"]
    works = subprocess.run(["mpirun", "-n", "2", *words], capture_output=True, text=True, timeout=120, env=environment)
    if works.returncode != 0:
        pytest.skip(f"mpi4py does not work under this mpirun: {works.stderr[-300:]}")
    alone = weights(glint.train("tales", out=tmp_path / "alone", **STORIES).path)
    for size in (2, 3):
        out = tmp_path / f"ranks-{size}"
        back = subprocess.run(["mpirun", "-n", str(size), sys.executable, "-c", MPI_PROGRAM, os.fspath(out)], capture_output=True, text=True, timeout=600, env=environment)
        assert back.returncode == 0, back.stderr
        assert back.stdout.splitlines() == [f"refused {size}"] * size
        assert weights(out) == alone
