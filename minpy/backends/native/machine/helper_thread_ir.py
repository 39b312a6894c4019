"""The helper thread as LLVM IR: a desk where callers leave a job, and a thread that takes what lies there.

A job is a range, cut into pieces; caller and helper each take the next piece until none is left. So nothing waits for a
helper that the system does not let run: the caller does it all, and takes the job from the desk again.

The desk's `state` is one of

0  nothing is there;
1  a job is there (written by the caller);
2  the helper has seen it (1 -> 2, by the helper), or the caller has taken it back (1 -> 0);
3  the helper has done its last piece (by the helper); the caller clears the desk.

Who finds nothing to do looks again some times, lets other threads run in between, and then sleeps: the helper until a
job comes, the caller until the helper is done. Whoever sets `state` looks whether the other one sleeps afterwards, and
who goes to sleep says so before looking at `state` for the last time; all four are sequentially consistent, so that one
of the two sees the other.

One caller at a time has the desk (`busy`); others do their work alone. The desk belongs to a process (`owner`): in a
forked child, where there is no helper, the first caller makes it anew. While it does so, `owner` is the negative number
of the process.
"""

from __future__ import annotations

import ctypes
import re
import signal
from typing import Final

__all__ = ["FUNCTIONS", "PLACES", "SIZE", "SOURCE", "desk"]

# Where things are on the desk, in bytes; what two threads write to is 128 bytes apart.
FUNCTIONS: Final = {
    name: 8 * number
    for number, name in enumerate(
        (
            "getpid", "sched_yield", "pthread_mutex_init", "pthread_mutex_lock", "pthread_mutex_unlock",
            "pthread_cond_init", "pthread_cond_wait", "pthread_cond_signal", "pthread_create", "pthread_sigmask",
        )
    )
}  # fmt: skip
PLACES: Final = {
    "how": 80,
    "owner": 128, "failed": 132, "busy": 136,
    "state": 256, "asleep": 260,
    "waiting": 384,
    "next": 512,
    "task": 640, "block": 648, "begin": 656, "end": 664, "pieces": 672,
    "mutex": 768, "job_came": 896, "job_done": 1024,
    "thread": 1152, "all_signals": 1280, "signals": 1408,
}  # fmt: skip
SIZE: Final = 1536

# How often a caller and the helper look before they sleep. A look with `sched_yield` takes 0.2 to 0.5 us.
_LOOKS: Final = 60


def desk() -> int | None:
    """Return the address of a desk, which is never freed; None where there are no threads of POSIX.

    Its helper begins with the first job.
    """
    try:
        process = ctypes.CDLL(None)
        addresses = {name: ctypes.cast(process[name], ctypes.c_void_p).value for name in FUNCTIONS}
        fill_set = process.sigfillset
    except (AttributeError, OSError, TypeError):  # on Windows
        return None
    memory = ctypes.create_string_buffer(SIZE + 128)
    # Code and helper refer to it by its address, also while the interpreter ends.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    start = -(-ctypes.addressof(memory) // 128) * 128
    for name, at in FUNCTIONS.items():
        ctypes.c_void_p.from_address(start + at).value = addresses[name]
    ctypes.c_int64.from_address(start + PLACES["how"]).value = int(signal.SIG_SETMASK)
    fill_set(ctypes.c_void_p(start + PLACES["all_signals"]))
    return start


def _defined(head: str, body: str) -> str:
    """Return a function: before its body what that names of the desk, functions `%name` and places `%p.name`."""
    lines = [f"define {head} {{"]
    for name in dict.fromkeys(re.findall(r"call i32 %(\w+)\(", body)):
        lines += [
            f"%at.{name} = getelementptr i8, ptr %desk, i64 {FUNCTIONS[name]}",
            f"%{name} = load ptr, ptr %at.{name}",
        ]
    for name in dict.fromkeys(re.findall(r"%p\.(\w+)", body)):
        lines.append(f"%p.{name} = getelementptr i8, ptr %desk, i64 {PLACES[name]}")
    return "\n".join([*lines, body, "}"])


_WAKE = _defined(
    "internal void @wake(ptr %desk, ptr %condition) noinline",
    """\
call i32 %pthread_mutex_lock(ptr %p.mutex)
call i32 %pthread_cond_signal(ptr %condition)
call i32 %pthread_mutex_unlock(ptr %p.mutex)
ret void""",
)

# Waits until `state` is `wanted`; who looks at `flag` will know that it must signal `condition`.
_AWAIT = _defined(
    "internal void @await(ptr %desk, i32 %wanted, ptr %flag, ptr %condition) noinline",
    f"""\
br label %look
look:
%looks = phi i64 [ 0, %0 ], [ %more, %yield ]
%seen = load atomic i32, ptr %p.state acquire, align 4
%there = icmp eq i32 %seen, %wanted
br i1 %there, label %done, label %yield
yield:
call i32 %sched_yield()
%more = add i64 %looks, 1
%enough = icmp eq i64 %more, {_LOOKS}
br i1 %enough, label %sleep, label %look
sleep:
call i32 %pthread_mutex_lock(ptr %p.mutex)
store atomic i32 1, ptr %flag seq_cst, align 4
br label %again
again:
%last = load atomic i32, ptr %p.state seq_cst, align 4
%came = icmp eq i32 %last, %wanted
br i1 %came, label %awake, label %wait
wait:
call i32 %pthread_cond_wait(ptr %condition, ptr %p.mutex)
br label %again
awake:
store atomic i32 0, ptr %flag seq_cst, align 4
call i32 %pthread_mutex_unlock(ptr %p.mutex)
br label %done
done:
ret void""",
)

# Takes pieces of the job until none is left. Of long ranges, pieces begin at multiples of 16.
_WORK = _defined(
    "internal void @work(ptr %desk, i64 %who) noinline",
    """\
%task = load ptr, ptr %p.task
%block = load ptr, ptr %p.block
%begin = load i64, ptr %p.begin
%end = load i64, ptr %p.end
%pieces = load i64, ptr %p.pieces
%length = sub i64 %end, %begin
%least = mul i64 %pieces, 64
%long = icmp sge i64 %length, %least
%mask = select i1 %long, i64 -16, i64 -1
br label %loop
loop:
%piece = atomicrmw add ptr %p.next, i64 1 monotonic, align 8
%left = icmp slt i64 %piece, %pieces
br i1 %left, label %take, label %done
take:
%following = add i64 %piece, 1
%scaled = mul i64 %piece, %length
%exact = sdiv i64 %scaled, %pieces
%from = and i64 %exact, %mask
%scaled.end = mul i64 %following, %length
%exact.end = sdiv i64 %scaled.end, %pieces
%masked.end = and i64 %exact.end, %mask
%is.last = icmp eq i64 %following, %pieces
%to = select i1 %is.last, i64 %length, i64 %masked.end
%first = add i64 %begin, %from
%stop = add i64 %begin, %to
%any = icmp slt i64 %first, %stop
br i1 %any, label %run, label %loop
run:
call void %task(ptr %block, i64 %first, i64 %stop, i64 %who)
br label %loop
done:
ret void""",
)

_HELP = _defined(
    "internal ptr @help(ptr %desk) noinline",
    """\
br label %loop
loop:
call void @await(ptr %desk, i32 1, ptr %p.asleep, ptr %p.job_came)
%exchanged = cmpxchg ptr %p.state, i32 1, i32 2 seq_cst seq_cst, align 4
%taken = extractvalue { i32, i1 } %exchanged, 1
br i1 %taken, label %work, label %loop
work:
call void @work(ptr %desk, i64 1)
store atomic i32 3, ptr %p.state seq_cst, align 4
%sleeps = load atomic i32, ptr %p.waiting seq_cst, align 4
%must = icmp ne i32 %sleeps, 0
br i1 %must, label %tell, label %loop
tell:
call void @wake(ptr %desk, ptr %p.job_done)
br label %loop""",
)

# Sets up the desk of this process; signals are for Python's threads, so the helper takes none.
_RENEW = _defined(
    "internal void @renew(ptr %desk) noinline",
    """\
store atomic i32 0, ptr %p.busy monotonic, align 4
store atomic i32 0, ptr %p.state monotonic, align 4
store atomic i32 0, ptr %p.asleep monotonic, align 4
store atomic i32 0, ptr %p.waiting monotonic, align 4
call i32 %pthread_mutex_init(ptr %p.mutex, ptr null)
call i32 %pthread_cond_init(ptr %p.job_came, ptr null)
call i32 %pthread_cond_init(ptr %p.job_done, ptr null)
%wide = load i64, ptr %p.how
%how = trunc i64 %wide to i32
call i32 %pthread_sigmask(i32 %how, ptr %p.all_signals, ptr %p.signals)
%refused = call i32 %pthread_create(ptr %p.thread, ptr null, ptr @help, ptr %desk)
call i32 %pthread_sigmask(i32 %how, ptr %p.signals, ptr null)
store i32 %refused, ptr %p.failed
ret void""",
)

_SHARE = _defined(
    "void @share(ptr %desk, ptr %task, ptr %block, i64 %begin, i64 %end, i64 %pieces)",
    """\
%pid = call i32 %getpid()
%owner = load atomic i32, ptr %p.owner acquire, align 4
%ours = icmp eq i32 %owner, %pid
br i1 %ours, label %usable, label %foreign
foreign:
%renewing = sub i32 0, %pid
%already = icmp eq i32 %owner, %renewing
br i1 %already, label %alone, label %claim
claim:
%claimed = cmpxchg ptr %p.owner, i32 %owner, i32 %renewing acquire monotonic, align 4
%first = extractvalue { i32, i1 } %claimed, 1
br i1 %first, label %renew, label %alone
renew:
call void @renew(ptr %desk)
store atomic i32 %pid, ptr %p.owner release, align 4
br label %usable
usable:
%failure = load i32, ptr %p.failed
%failed = icmp ne i32 %failure, 0
br i1 %failed, label %alone, label %ask
ask:
%asked = cmpxchg ptr %p.busy, i32 0, i32 1 acquire monotonic, align 4
%granted = extractvalue { i32, i1 } %asked, 1
br i1 %granted, label %post, label %alone
alone:
call void %task(ptr %block, i64 %begin, i64 %end, i64 0)
ret void
post:
store ptr %task, ptr %p.task
store ptr %block, ptr %p.block
store i64 %begin, ptr %p.begin
store i64 %end, ptr %p.end
store i64 %pieces, ptr %p.pieces
store atomic i64 0, ptr %p.next monotonic, align 8
store atomic i32 1, ptr %p.state seq_cst, align 4
%sleeps = load atomic i32, ptr %p.asleep seq_cst, align 4
%must = icmp ne i32 %sleeps, 0
br i1 %must, label %tell, label %work
tell:
call void @wake(ptr %desk, ptr %p.job_came)
br label %work
work:
call void @work(ptr %desk, i64 0)
%back = cmpxchg ptr %p.state, i32 1, i32 0 seq_cst seq_cst, align 4
%unseen = extractvalue { i32, i1 } %back, 1
br i1 %unseen, label %clear, label %wait
wait:
call void @await(ptr %desk, i32 3, ptr %p.waiting, ptr %p.job_done)
store atomic i32 0, ptr %p.state seq_cst, align 4
br label %clear
clear:
store atomic i32 0, ptr %p.busy release, align 4
ret void""",
)

# `void share(desk, task, block, begin, end, pieces)`, and what it calls, `void task(block, begin, end, who)`: who is 0
# in the caller's thread, and 1 in the helper's.
SOURCE: Final = "\n".join([_WAKE, _AWAIT, _WORK, _HELP, _RENEW, _SHARE, ""])
