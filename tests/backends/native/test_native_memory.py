"""Memory of native programs: arrays that are needed at the same time never overlap, and little is wasted."""

import itertools

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minpy.backends.memory_planner import ALIGNMENT, Block, MemoryPlan, offsets
from minpy.backends.native.codegen.memory_layout import Memory, Uses, allocation
from minpy.backends.native.fusing.loop_nest import Place
from minpy.backends.native.language import Array, Layout, View, contiguous, viewed


def array(*shape, dtype="float32"):
    return Array(shape, numpy.dtype(dtype))


BLOCKS = st.builds(
    lambda size, first, length: Block(size, first, first + length),
    st.integers(0, 1000),
    st.integers(0, 20),
    st.integers(0, 8),
)


@given(st.lists(BLOCKS, max_size=40))
def test_blocks_that_are_needed_together_do_not_overlap(blocks):
    found, whole = offsets(blocks)
    for time in range(30):
        used = numpy.zeros(whole, int)
        for block, offset in zip(blocks, found, strict=True):
            assert offset % ALIGNMENT == 0
            assert offset + block.size <= whole
            if block.first <= time <= block.last:
                used[offset : offset + block.size] += 1
        assert used.max(initial=0) <= 1


@given(st.lists(BLOCKS, max_size=40))
def test_the_whole_is_no_larger_than_without_sharing_and_no_smaller_than_what_lives_at_once(blocks):
    _, whole = offsets(blocks)
    rounded = [-(-max(block.size, 1) // ALIGNMENT) * ALIGNMENT for block in blocks]
    most = max(
        (
            sum(size for size, block in zip(rounded, blocks, strict=True) if block.first <= time <= block.last)
            for time in range(30)
        ),
        default=0,
    )
    assert most <= whole <= sum(rounded)


def test_a_chain_of_equal_arrays_takes_two():
    blocks = [Block(1024, number, number + 1) for number in range(50)]
    assert offsets(blocks)[1] == 2 * 1024


def test_a_block_goes_into_the_lowest_gap_that_holds_it():
    blocks = [Block(640, 0, 9), Block(512, 0, 4), Block(448, 0, 9), Block(128, 5, 9), Block(384, 5, 9)]
    assert offsets(blocks) == ([0, 640, 1152, 1024, 640], 1600)


def test_many_blocks_are_placed_quickly_enough_to_be_a_test():
    blocks = [Block(64 * (1 + number % 7), number, number + number % 11) for number in range(2000)]
    assert offsets(blocks)[1] < 64 * 7 * 11


def naive(works, places, elsewhere, lasting):
    """Return (owner, first, last) by looking at every work for every array."""
    everything = {one for work in works for part in work[:3] for one in part}

    def owner(one):
        while one.root in places or one.is_view:
            one = places[one.root].root if one.root in places else one.root
        return one

    found = {}
    for one in map(owner, everything):
        if one in elsewhere or one.is_constant:
            continue
        times = [number for number, work in enumerate(works) for part in work[:3] if one in map(owner, part)]
        found[one] = (min(times), len(works) if one in map(owner, lasting) else max(times))
    return found


SHAPES = [(4, 6), (3,), (100,), (0, 5)]
# What is read, the shapes of what is made, spare memory, pieces, scratch memory, pairs in place: numbers, which
# `made` takes for choices.
CHOICES = st.tuples(
    st.lists(st.integers(0, 50), max_size=3),
    st.lists(st.integers(0, 3), min_size=1, max_size=2),
    st.booleans(),
    st.integers(0, 4),
    st.sampled_from([0, 0, 300]),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=2),
)
PROGRAMS = st.tuples(st.lists(CHOICES, min_size=1, max_size=15), st.lists(st.integers(0, 50), max_size=2))


def made(program):
    """Return works that read and write arrays, views of them and pieces in them."""
    rows, last = program
    inputs = [array(4, 6), array(24)]
    known, works, places = list(inputs), [], {}
    for reads, shapes, has_spare, piece, scratch, pairs in rows:
        read = [known[number % len(known)] for number in reads]
        written = [array(*SHAPES[number]) for number in shapes]
        spare = [array(50)] if has_spare else []
        if piece == 0:
            whole = array(2, *written[0].shape)
            places[written[0]] = Place(whole, Layout(written[0].size, contiguous(written[0].shape)))
            known.append(whole)
        chosen = [(written[one % len(written)], read[two % len(read)]) for one, two in pairs if read]
        in_place = [(one, two) for one, two in chosen if one.shape == two.shape]
        works.append(Uses(read, written, spare, scratch, in_place))
        known += written
        if written[0].shape == (4, 6):
            known.append(viewed(written[0], lambda one: one[1:, ::2]))
    return works, places, inputs, [known[number % len(known)] for number in last]


@given(PROGRAMS)
def test_no_two_live_arrays_overlap(program):
    works, places, inputs, lasting = made(program)
    memory = Memory(works, places, inputs, lasting)
    expected = naive(works, places, inputs, lasting)
    assert memory.spans == expected
    assert set(memory.offsets) == set(expected)
    for number, work in enumerate(works):
        used = numpy.zeros(memory.nbytes, int)
        for owner, (first, last) in expected.items():
            # What is computed in place takes over memory in the work that reads it last.
            if first <= number <= last and not (first == number and memory.heirs.get(owner)):
                used[memory.offsets[owner] : memory.offsets[owner] + owner.nbytes] += 1
        if work.scratch:
            used[memory.scratch[number] : memory.scratch[number] + work.scratch] += 1
        assert used.max(initial=0) <= 1


@pytest.mark.parametrize(
    "function",
    [
        lambda one: one,
        lambda one: one[1],
        lambda one: one[:, 2:],
        lambda one: one.transpose(2, 0, 1),
        lambda one: one[::-1, 1:2, ::2][:1],
        lambda one: one[:, None, 1],
        lambda one: numpy.broadcast_to(one[1, 1], (5, 4)),
    ],
)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_where_a_view_of_a_piece_lies(function, axis):
    piece = array(2, 3, 4)
    shape = [2, 3, 4]
    shape[axis] *= 3
    whole = array(*shape)
    slices = [slice(None)] * 3
    slices[axis] = slice(piece.shape[axis], 2 * piece.shape[axis])
    target = viewed(whole, lambda one: one[tuple(slices)])
    places = {piece: Place(whole, target.layout)}
    values = numpy.arange(whole.size, dtype="float32").reshape(shape)
    lying = values[tuple(slices)]
    view = viewed(piece, function)
    owner, layout = allocation(view, places)
    assert owner is whole
    (found,) = View((whole,), view.shape, layout).evaluate(values)
    assert numpy.array_equal(found, function(lying))


def test_a_flattened_view_of_a_scattered_piece_is_refused():
    piece, whole = array(2, 3), array(2, 6)
    places = {piece: Place(whole, Layout(3, (6, 1)))}
    with pytest.raises(ValueError, match="lies scattered"):
        allocation(viewed(piece, lambda one: one.reshape(6)), places)


@given(PROGRAMS)
def test_memory_is_taken_over_from_what_the_same_work_reads_last(program):
    works, places, inputs, lasting = made(program)
    memory = Memory(works, places, inputs, lasting)
    for heir in memory.heirs:
        number = memory.spans[heir][0]
        pairs = [(memory.owner(one), memory.owner(two)) for one, two in works[number].in_place]
        before = [two for one, two in pairs if one is heir]
        assert any(
            memory.offsets[one] == memory.offsets[heir] and memory.spans[one][1] == number and one.nbytes == heir.nbytes
            for one in before
        )


def test_a_chain_of_elementwise_works_takes_one_block():
    arrays = [array(100) for _ in range(5)]
    works = [Uses([], arrays[:1])]
    works += [Uses([one], [two], in_place=[(two, one)]) for one, two in itertools.pairwise(arrays)]
    assert Memory(works, {}, []).nbytes == 448


def test_only_one_of_two_takes_over():
    source, one, two = array(100), array(100), array(100)
    works = [
        Uses([], [source]),
        Uses([source], [one, two], in_place=[(one, source), (two, source)]),
        Uses([one, two], []),
    ]
    memory = Memory(works, {}, [])
    assert memory.heirs == {one: source}
    assert memory.offsets[one] == memory.offsets[source] != memory.offsets[two]


def test_what_is_needed_later_is_not_taken_over():
    source, one = array(100), array(100)
    works = [Uses([], [source]), Uses([source], [one], in_place=[(one, source)])]
    assert Memory(works, {}, [], [source]).heirs == {}


@given(st.lists(BLOCKS, max_size=20), st.lists(BLOCKS, max_size=20), st.booleans())
def test_a_second_part_is_laid_around_the_first(first, second, takes_over):
    """What is there stays, nothing lies across the end of the first block, and what is live at once does not meet."""
    early = dict(enumerate(first))
    late = dict(enumerate(second, len(first)))
    blocks = early | late

    def size(owner):
        return blocks[owner].size

    def spans(some):
        return {owner: (block.first, block.last) for owner, block in some.items()}

    pairs = [
        (blocks[heir].first, heir, owner)
        for heir in blocks
        for owner in blocks
        if takes_over and owner != heir and blocks[owner].last == blocks[heir].first > blocks[owner].first
    ]
    before = MemoryPlan(spans(early), size, [pair for pair in pairs if {*pair[1:]} <= set(early)])
    new = [pair for pair in pairs if pair[1] in late]
    plan = MemoryPlan(spans(blocks), size, new, before=before)
    assert {owner: plan.offsets[owner] for owner in early} == before.offsets
    assert before.heirs.items() <= plan.heirs.items()
    ends = {}
    for owner, offset in plan.offsets.items():
        end = ends[owner] = offset + size(owner)
        assert end <= plan.nbytes
        assert end <= before.nbytes or offset >= before.nbytes
    for time in range(30):
        live = [owner for owner, block in blocks.items() if block.first <= time <= block.last and block.size]
        for one, other in itertools.combinations(live, 2):
            if plan.heirs.get(one, one) == plan.heirs.get(other, other):  # the one begins where the other ends
                assert time in (blocks[one].first, blocks[other].first)
            else:
                assert ends[one] <= plan.offsets[other] or ends[other] <= plan.offsets[one]


def test_what_is_outside_is_taken_over_but_not_laid_out():
    spans = {"made": (0, 1), "inside": (1, 2), "head": (2, 9), "other": (0, 2)}
    pairs = [(1, "inside", "made"), (2, "head", "other"), (2, "head", "inside")]
    plan = MemoryPlan(spans, lambda owner: 100, pairs, outside={"made", "head"})
    assert plan.heirs == {"inside": "made", "head": "made"}  # a head may not lie in the block, as `other` does
    assert plan.offsets == {"other": 0}
