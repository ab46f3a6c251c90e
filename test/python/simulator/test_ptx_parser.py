"""The PTX parser: what compilers write, inline assembly included, and what it refuses."""

import pytest
from tilemlir.simulator import ptx_parser
from tilemlir.simulator.ptx_parser import Address, Immediate, Location, Negated, Pair, Register, Sink, Symbol, Vector

TEXT = """
// comment
.version 8.6
.target sm_90a
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.extern .shared .align 1024 .b8 arena[];
.global .align 4 .b8 table[6] = {1, 2, 3, 0x10, 255, 0};
.visible .entry kernel(.param .u64 .ptr .global .align 16 out, .param .align 64 .b8 map[128])
.reqntid 128, 1, 1
.minnctapersm 1
{
  .local .align 8 .b8 depot[24];
  .reg .pred %p<3>; .reg .b32 %r<10>; .reg .f32 %f<2>;
  .reg .b64 %rd<4>;
  .loc 1 7 3
  ld.param.u64 %rd1, [out]; /* two
  lines */
  @!%p1 bra $L__done;
  {
    .reg .pred complete;
  wait_0:
    mbarrier.try_wait.parity.shared::cta.b64 complete, [%r1+8], %r2;
    @complete bra done_0;
    bra wait_0;
  done_0:
  }
  elect.sync _|%p2, -1;
  .loc 1 9 1, function_name $L__info_string0, inlined_at 1 7 3
  mov.b64 %rd2, {%r1, _};
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [%r3];
  setp.eq.and.f32 %p1|%p2, %f1, 0f3F800000, !%p2;
  ld.shared.b32 %r4, [arena+16];
$L__done:
  ret;
}
.file 1 "/tmp/program.py"
.section .debug_loc { .b8 1 }
"""


def test_a_module():
    module = ptx_parser.parse(TEXT)
    assert module.target == "sm_90a"
    assert [(v.name, v.space, v.size, v.align) for v in module.variables] == [
        ("arena", "shared", 0, 1024),
        ("table", "global", 6, 4),
    ]
    assert module.variables[1].data == bytes([1, 2, 3, 16, 255, 0])
    function = module.functions["kernel"]
    assert [(p.name, p.size, p.align) for p in function.parameters] == [("out", 8, 8), ("map", 128, 64)]
    assert function.directives == {"reqntid": (128, 1, 1), "minnctapersm": (1,)}
    assert [(v.space, v.size) for v in function.variables] == [("local", 24)]
    assert function.registers == {1: 4, 32: 12, 64: 4}
    code = function.instructions
    assert [one.opcode for one in code] == [
        "ld", "bra", "mbarrier", "bra", "bra", "elect", "mov", "cp", "setp", "ld", "ret",
    ]  # fmt: skip
    assert code[1].guard_negated and code[1].target == 10
    assert code[3].target == 5 and code[4].target == 2
    wait = code[2]
    assert wait.name == "mbarrier.try_wait.parity.shared::cta.b64"
    assert isinstance(wait.operands[0], Register) and wait.operands[0].bits == 1
    assert wait.operands[1] == Address(Register(32, 1, "%r1"), 8)
    assert code[5].operands[0] == Pair(Sink(), Register(1, 2, "%p2"))
    assert code[5].operands[1] == Immediate(-1)
    assert code[6].operands[1] == Vector((Register(32, 1, "%r1"), Sink()))
    box = code[7].operands[0]
    assert isinstance(box, Address) and isinstance(box.rest[0], Vector)
    assert code[8].operands[2] == Immediate(1.0)
    assert code[8].operands[3] == Negated(Register(1, 2, "%p2"))
    assert code[9].operands[1] == Address(Symbol("arena"), 16)


def test_lines_of_the_program_and_of_the_text():
    code = ptx_parser.parse(TEXT).functions["kernel"].instructions
    assert code[0].location == Location("/tmp/program.py", 7, 3)
    assert code[6].location == Location("/tmp/program.py", 9, 1)
    lines = TEXT.split("\n")
    for one in code:
        assert one.opcode in lines[one.line - 1]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("$L__done:", "$L__other:", "no label '\\$L__done'"),
        ("%rd1, [out]", "%rq1, [out]", "unknown register near '%rq1"),
        (".version 8.6", ".verse 8.6", "unknown directive near '.verse"),
        ("ret;", "ret", "expected ',' or ';'"),
        (".reg .b64", ".reg .b63", "unknown register type '.b63'"),
    ],
)
def test_refusals_name_the_line(old, new, text):
    with pytest.raises(ptx_parser.PtxSyntaxError, match=f"PTX line \\d+: .*{text}|PTX line \\d+: {text}"):
        ptx_parser.parse(TEXT.replace(old, new, 1))
