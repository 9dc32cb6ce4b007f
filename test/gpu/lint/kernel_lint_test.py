#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad kernels on purpose: each must be found by the measure made for it."""

import pathlib
import unittest

import assemble
import cubin
import kernel_lint
import models_lint
import warpgroup

HERE = pathlib.Path(__file__).parent
HEADER = """
.version 8.0
.target sm_{sm}
.address_size 64
.visible .entry {name}(.param .u64 in, .param .u64 out)
{{
  .reg .b64 %d<8>;
  .reg .b32 %r<40>;
  .reg .f32 %f<300>;
  ld.param.u64 %d1, [in];
  ld.param.u64 %d2, [out];
"""


def kernel(body, name="k", sm=80):
    return HEADER.format(name=name, sm=sm) + body + "\n  ret;\n}\n"


def measure(body, sm=80, options=()):
    return kernel_lint.measure_file(kernel(body), sm, options)["k"]


def rows(*limits):
    names = ("kernel", "sm", "measure", "least", "most")
    return [dict(zip(names, limit)) for limit in limits]


def many_values():
    """All of 200 loads are alive until the last."""
    loads = "".join(
        f"  ld.global.f32 %f{i}, [%d1+{4 * i}];\n" for i in range(200)
    )
    loads += "  bar.sync 0;\n"
    return loads + "".join(
        f"  st.global.f32 [%d2+{4 * i}], %f{199 - i};\n" for i in range(200)
    )


PRODUCT = """
  ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1];
  ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%d1+16];
  mov.f32 %f1, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5},
    {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f1, %f1, %f1};
  st.global.v4.f32 [%d2], {%f2, %f3, %f4, %f5};
"""


@unittest.skipUnless(assemble.find(), "there is no ptxas on PATH")
class PlantedKernels(unittest.TestCase):
    def test_a_kernel_that_spills(self):
        self.assertEqual(measure(many_values())["spill_bytes"], 0)
        bad = measure(many_values(), options=["-maxrregcount=32"])
        self.assertGreater(bad["spill_bytes"], 0)
        self.assertGreater(bad["local_instructions"], 0)
        limits = rows(("*", "*", "spill_bytes", None, 0.0))
        (said,) = kernel_lint.complaints("k", 80, bad, limits)
        self.assertRegex(said, r"k \(sm_80\): spill_bytes is \d+, at most 0")

    def test_a_good_kernel_under_a_limit_of_registers(self):
        """The last of the bugs that test/gpu/bugs plants."""
        ptx = (HERE.parent / "bugs" / "product.ptx").read_text()
        limits = kernel_lint.read_limits(HERE / "limits.csv")

        def said(text):
            measured = kernel_lint.measure_file(text, 80)["product"]
            return list(kernel_lint.complaints("product", 80, measured, limits))

        self.assertEqual(said(ptx), [])
        (bad,) = said(ptx.replace(".maxntid 32", ".maxntid 32\n.maxnreg 32"))
        self.assertRegex(bad, "product .*: spill_bytes is .*, at most 0")

    def test_local_memory_without_a_spill(self):
        bad = measure("""
  .local .align 16 .b8 table[64];
  ld.global.u32 %r1, [%d1];
  and.b32 %r1, %r1, 12;
  cvt.u64.u32 %d3, %r1;
  mov.u64 %d4, table;
  add.s64 %d4, %d4, %d3;
  st.local.u32 [%d4], %r1;
  ld.local.u32 %r2, [table+4];
  st.global.u32 [%d2], %r2;
""")
        self.assertEqual(bad["spill_bytes"], 0)
        self.assertEqual(bad["stack_bytes"], 64)
        self.assertGreater(bad["local_instructions"], 0)

    def test_loads_of_one_element(self):
        one = "".join(
            f"  ld.global.f32 %f{i}, [%d1+{4 * i}];\n" for i in range(4)
        )
        wide_store = "  st.global.v4.f32 [%d2], {%f0, %f1, %f2, %f3};\n"
        for sm in (80, 90, 100, 120):
            bad = measure(one + wide_store, sm)
            self.assertEqual(bad["wide_load_share"], 0, sm)
            self.assertEqual(bad["wide_store_share"], 1, sm)
            good = measure(
                "  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d1];\n"
                + wide_store,
                sm,
            )
            self.assertEqual(good["wide_load_share"], 1, sm)

    def test_a_product_that_is_none(self):
        self.assertGreater(measure(PRODUCT)["tensor_share"], 0.02)
        scalar = PRODUCT.split("mma.sync")[0] + (
            "  cvt.rn.f32.u32 %f2, %r1;\n  st.global.f32 [%d2], %f2;\n"
        )
        bad = measure(scalar)
        self.assertEqual(bad["tensor_instructions"], 0)
        limits = rows(("*", "80", "tensor_share", 0.02, None))
        (said,) = kernel_lint.complaints("k", 80, bad, limits)
        self.assertEqual(said, "k (sm_80): tensor_share is 0, at least 0.02")

    def test_accesses_to_an_unknown_space(self):
        body = "  ld.f32 %f1, [%d1];\n  st.f32 [%d2], %f1;\n"
        self.assertEqual(measure(body)["generic_accesses"], 2)

    def test_products_in_flight_that_are_read_early(self):
        accumulators = ", ".join(f"%f{i}" for i in range(4))
        body = f"""
  mov.u64 %d3, 0;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0;
  mov.f32 %f2, %f0; mov.f32 %f3, %f0;
  .reg .pred %p;
  setp.ne.u32 %p, 1, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
    {{{accumulators}}}, %d3, %d3, %p, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  st.global.f32 [%d2], %f0;
  wgmma.wait_group.sync.aligned 0;
  st.global.f32 [%d2+4], %f1;
"""
        ptx = kernel(body, sm="90a")
        bad = kernel_lint.measure_file(ptx, "90a")["k"]
        self.assertGreater(bad["losses"], 0)

    def test_a_mistake_in_the_text(self):
        with self.assertRaisesRegex(assemble.AssemblerError, "line"):
            measure("  abb.f32 %f1, %f1, %f1;\n")


class Reading(unittest.TestCase):
    def test_what_the_assembler_says(self):
        said = assemble.read(
            "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
            "    96 bytes stack frame, 92 bytes spill stores, "
            "88 bytes spill loads\n"
            "ptxas info    : Used 255 registers, used 1 barriers, 512 bytes "
            "smem\n"
            "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
            "ptxas info    : (C7510) Potential loss in the function 'b'\n"
        )
        self.assertEqual(
            said["a"],
            dict(
                registers=255,
                stack_bytes=96,
                spill_bytes=180,
                shared_bytes=512,
                losses=0,
            ),
        )
        self.assertEqual(said["b"]["losses"], 1)

    def test_a_file_that_is_no_cubin(self):
        with self.assertRaises(cubin.NotACubin):
            cubin.kernels(b"hello")
        with self.assertRaises(cubin.NotACubin):
            cubin.kernels(b"\x7fELF" + b"\xff" * 100)

    def test_ptx_among_other_bytes(self):
        ptx = kernel("")
        found = list(
            kernel_lint.texts(b"\x7fELF\0" + ptx.encode() + b"\0.version 8\0")
        )
        self.assertEqual(found, [ptx.lstrip()])

    def test_text_for_newer_devices(self):
        newer, older = ".version 8.0\n.target sm_90\n", ".target sm_80\n"
        self.assertFalse(kernel_lint.is_for(newer, "80"))
        self.assertTrue(kernel_lint.is_for(newer, "90a"))
        self.assertTrue(kernel_lint.is_for(older, "80"))

    def test_exceptions_stand_behind_what_they_are_exceptions_of(self):
        held = {"name": "k", "schedule": "Generic", "threads": 64,
                "shared_bytes": 1024}
        kernel = models_lint.Kernel("", held, "a model")
        values = {"spill_bytes": 8.0, **models_lint.launch_measures(
            {"registers": 33, "shared_bytes": 16}, held)}
        self.assertEqual(values["block_registers"], 40 * 64)
        self.assertEqual(values["block_shared_bytes"], 1040)
        measured = [("80", kernel, values)]
        limits = rows(("*", "*", "spill_bytes", None, 0.0))
        (said,) = models_lint.lint(measured, limits)
        self.assertIn("a model: Generic/k (sm_80): spill_bytes is 8", said)
        for most, isEnough in ((8.0, True), (7.0, False)):
            row = rows(("Generic/*", "80", "spill_bytes", None, most))
            found = models_lint.lint(measured, limits + row)
            self.assertEqual(not found, isEnough)
            self.assertTrue(models_lint.is_needed(row[0], measured,
                                                  limits + row))
        row = rows(("Other/*", "80", "spill_bytes", None, 8.0))
        self.assertTrue(models_lint.lint(measured, limits + row))
        self.assertFalse(models_lint.is_needed(row[0], measured, limits + row))

    def test_kernels_that_differ_in_name_alone_are_one(self):
        def compiled(name, body):
            header, texts = models_lint.split(kernel(body, name))
            return header, [models_lint.Kernel(
                texts[name], {"name": name, "schedule": "Generic"}, name)]

        parts = [compiled("a", "  ret;"), compiled("b", "  ret;"),
                 compiled("c", "  bar.sync 0;")]
        self.assertIn(".version", parts[0][0])
        found = models_lint.distinct(parts)
        self.assertEqual([each.origin for each in found], ["a", "c"])

    def test_an_unknown_measure_is_told(self):
        limits = rows(("*", "*", "beauty", 1.0, None))
        (said,) = kernel_lint.complaints("k", 80, {}, limits)
        self.assertIn("no measure 'beauty'", said)

    def test_the_table_can_be_read(self):
        self.assertTrue(kernel_lint.read_limits(HERE / "limits.csv"))


def word(name, target=0, first=0, form=0, low=0, high=0):
    number = next(k for k, v in cubin.NAMES.items() if v == name)
    low |= number | form << 9 | target << 16 | first << 24
    return cubin.Instruction(low, high)


def wait(running):
    return word("WARPGROUP", low=1 << 47, high=running << 8)


class Warpgroups(unittest.TestCase):
    def test_the_order_of_waits(self):
        product, mufu = word("HGMMA"), word("MUFU")
        code = [product] * 2 + [wait(1)] + [mufu] * 3 + [wait(0)]
        self.assertEqual(
            warpgroup.structure(code), "2 products | wait 1 | 3 mufu | wait 0"
        )

    def test_a_register_is_written_under_a_product(self):
        product = word("HGMMA", first=24, form=6)
        write = word("FADD", target=26)
        self.assertEqual(warpgroup.hazards([product, wait(0), write]), [])
        self.assertEqual(
            warpgroup.hazards([product, write, wait(0)]), [(1, 26)]
        )
        # A wait that leaves one group in flight does not retire it.
        self.assertEqual(
            warpgroup.hazards([product, wait(1), write, wait(0)]), [(2, 26)]
        )


if __name__ == "__main__":
    unittest.main()
