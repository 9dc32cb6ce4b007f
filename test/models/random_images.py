#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks over images that nobody thought of: convolutions, pools, resizes and
what stands between them, drawn at random as random_graphs.py draws nodes, of
sizes at which tiles end early. Compiled for the CPU and for a GPU that is
simulated, each computes what ONNX's evaluator does.

    random_images.py TENON FAKE_CUDA [FIRST [COUNT]]
"""
import numpy
from random_graphs import Walk, ints, run

MAPS = (1, 3, 4, 8, 12, 16, 24, 32, 33, 40, 48, 64)
ACTIVATIONS = "Relu LeakyRelu Sigmoid HardSwish Elu Gelu Mish Tanh".split()


class ImageWalk(Walk):
    """A network that grows from images."""
    MOST_ELEMENTS = 60000

    def inputs(self):
        self.sets = self.choose(1, 1, 2, 2)
        channels = self.choose(1, 3, 3, 4, 8, 16, 33)
        sizes = [{"b": b, "h": self.choose(5, 8, 13, 16, 24),
                  "w": self.choose(7, 9, 14, 16, 31)} for b in (1, 2)]
        dims = ["b", channels, "h", "w"]
        if self.sets == 1 or self.chance(0.5):
            dims = ["b", channels, sizes[0]["h"], sizes[0]["w"]]
        if self.sets == 1:
            dims[0] = 1
        values = [self.block.noise(*[of.get(d, d) for d in dims])
                  for of in sizes[:self.sets]]
        self.values[self.block.input("x", dims, *values)] = values

    def computed(self, *node):
        """None where no window has a place, too."""
        found = super().computed(*node)
        empty = found and any(x.size == 0 for each in found for x in each)
        return None if empty else found

    def image(self):
        """A value whose channels are the same in each set, or None."""
        x = self.pick(rank=4)
        if x and len(self.shape(x)) == 4 and all(
                v.shape[1] == self.shape(x)[1] > 0 and v.size
                for v in self.values[x]):
            return x
        return None

    def sizes(self):
        """Of a window, and how it is moved."""
        taps = self.choose((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (2, 2),
                           (5, 5), (7, 7), (1, 5), (3, 1))
        how = {"strides": self.choose([1, 1], [1, 1], [1, 1], [2, 2], [2, 1])}
        if self.chance(0.2):
            how["dilations"] = self.choose([2, 2], [3, 3], [1, 2])
        if self.chance(0.7):
            far = how.get("dilations", [1, 1])
            how["pads"] = [(t - 1) * d // 2 for t, d in zip(taps, far)] * 2
        elif self.chance(0.5):
            how["pads"] = [int(i) for i in self.random.integers(0, 3, 4)]
        elif "dilations" not in how:
            how["auto_pad"] = self.choose("SAME_UPPER", "SAME_LOWER")
        return taps, how

    def active(self, x):
        if x and self.chance(0.6):
            x = self.add(self.choose(*ACTIVATIONS), x)
        return x

    def convolved(self, x, maps, taps=(1, 1), group=1, **how):
        each = self.shape(x)[1] // group
        weight = self.block.noise(maps, each, *taps)
        operands = [x, weight / numpy.float32(weight[0].size) ** 0.5]
        if self.chance(0.8):
            operands.append(self.block.noise(maps))
        return self.add("Conv", *operands, group=group, kernel_shape=list(taps),
                        **how)

    # What a step adds. Each may add nothing.

    def convolution(self):
        x = self.image()
        if not x:
            return
        channels, (taps, how) = self.shape(x)[1], self.sizes()
        groups = [g for g in (2, 3, 4, 8) if channels % g == 0]
        maps = self.choose(*MAPS)
        if self.chance(0.25):
            how["group"] = channels
            maps = channels * self.choose(1, 1, 1, 2)
        elif groups and self.chance(0.2):
            how["group"] = self.choose(*groups)
            maps = how["group"] * self.choose(1, 2, 4, 8, 12)
        self.active(self.convolved(x, maps, taps, **how))

    def transposed(self):
        x = self.image()
        if x:
            size, stride = self.choose((2, 2), (3, 2), (4, 2), (3, 1), (3, 3))
            maps, channels = self.choose(1, 5, 8, 16), self.shape(x)[1]
            weight = self.block.noise(channels, maps, size, size)
            edge = self.choose(0, 0, 1)
            self.active(self.add(
                "ConvTranspose", x, weight / numpy.float32(channels * 4) ** 0.5,
                self.block.noise(maps), strides=[stride] * 2, pads=[edge] * 4,
                output_padding=[self.choose(0, stride - 1)] * 2))

    def residual(self):
        x = self.image()
        if x:
            y = self.active(self.convolved(x, self.shape(x)[1], (3, 3),
                                           pads=[1] * 4))
            self.active(self.add(self.choose("Add", "Add", "Mul"), y, x))

    def pooled(self):
        x = self.image()
        if not x:
            return
        how = {"kernel_shape": self.choose([2, 2], [3, 3], [3, 2], [5, 5]),
               "strides": self.choose([1, 1], [2, 2], [2, 1]),
               "pads": [self.choose(0, 1)] * 4}
        if self.chance(0.5):
            self.add("MaxPool", x, **how)
            return
        # Of the largest, ONNX's evaluator has the sizes wrong then.
        if self.chance(0.4):
            how.update(ceil_mode=int(self.chance(0.5)), pads=[1, 0, 1, 0])
        self.add("AveragePool", x, count_include_pad=int(self.chance(0.5)),
                 **how)

    def resized(self):
        x = self.image()
        scale = self.choose(2, 2, 3, 0.5)
        if x:
            self.add("Resize", x, numpy.float32([]),
                     numpy.float32([1, 1, scale, scale]),
                     mode=self.choose("nearest", "linear"),
                     coordinate_transformation_mode=self.choose(
                         "asymmetric", "half_pixel"))

    def normal(self):
        x = self.image()
        if not x:
            return
        channels = self.shape(x)[1]
        factors = [self.block.noise(channels) for _ in range(3)]
        which = self.choose("Batch", "Batch", "Instance", "Layer")
        if which == "Batch":
            x = self.add("BatchNormalization", x, *factors,
                         self.random.uniform(0.5, 2, channels).astype("f4"))
        elif which == "Instance":
            x = self.add("InstanceNormalization", x, *factors[:2], epsilon=1e-2)
        elif channels > 1:
            x = self.add("Transpose", x, perm=[0, 2, 3, 1])
            x = self.add("LayerNormalization", x, *factors[:2], axis=-1,
                         epsilon=1e-2)
            x = self.add("Transpose", x, perm=[0, 3, 1, 2])
        self.active(x)

    def squeezed(self):
        """Channels that are weighed by what is in the image."""
        x = self.image()
        if x:
            channels = self.shape(x)[1]
            y = self.add("GlobalAveragePool", x)
            y = self.add("Relu", y and self.convolved(y, self.choose(4, 7)))
            y = self.add("Sigmoid", y and self.convolved(y, channels))
            self.add("Mul", x, y)

    def by_channel(self):
        x = self.image()
        if x:
            self.add(self.choose("Mul", "Add", "PRelu"), x,
                     self.block.noise(self.shape(x)[1], 1, 1))

    def concatenated(self):
        found = [self.image() for _ in range(self.choose(2, 2, 3))]
        if all(found):
            self.add("Concat", *found, axis=1)

    def parted(self):
        x = self.image()
        channels = self.shape(x)[1] if x else 0
        if channels % 2 == 0 and channels:
            a, b = [self.add("Slice", x, ints(i), ints(i + channels // 2),
                             ints(1)) for i in (0, channels // 2)]
            self.add("Concat", self.active(a), b, axis=1)

    def shuffled(self):
        x = self.image()
        groups = self.choose(2, 4)
        if not x or self.shape(x)[1] % groups or len(
                {v.shape[2:] for v in self.values[x]}) > 1:
            return
        _, channels, *sizes = self.shape(x)
        y = self.add("Reshape", x, ints(-1, groups, channels // groups, *sizes))
        y = self.add("Transpose", y, perm=[0, 2, 1, 3, 4])
        self.add("Reshape", y, ints(-1, channels, *sizes))

    def blocks(self):
        x = self.image()
        if x:
            self.add(self.choose("DepthToSpace", "SpaceToDepth"), x,
                     blocksize=2)

    def bordered(self):
        x = self.image()
        if x and all(min(v.shape[2:]) > 2 for v in self.values[x]):
            before, behind = self.choose(0, 1), self.choose(1, 2)
            self.add("Pad", x, ints(0, 0, before, before, 0, 0, behind, behind),
                     mode=self.choose("constant", "reflect", "edge"))

    def cropped(self):
        x = self.image()
        if x:
            self.add("Slice", x, ints(1, 0), ints(2**62, -1), ints(2, 3))

    def tokens(self):
        """Pixels as rows of a matrix, and often back."""
        x = self.image()
        if not x:
            return
        channels = self.shape(x)[1]
        y = self.add("Reshape", x, ints(0, channels, -1))
        y = self.add("Transpose", y, perm=[0, 2, 1])
        weight = self.block.noise(channels, channels)
        y = self.add("MatMul", y, weight / numpy.float32(channels) ** 0.5)
        y = self.add("Transpose", self.active(y), perm=[0, 2, 1])
        if len({v.shape[2:] for v in self.values[x]}) == 1:
            self.add("Reshape", y, ints(0, channels, *self.shape(x)[2:]))

    STEPS = ([convolution] * 12 + [transposed] * 2 + [residual] * 3 +
             [pooled] * 2 + [resized] + [normal] * 3 + [squeezed] +
             [by_channel] * 2 + [concatenated] * 3 + [parted] * 2 + [shuffled] +
             [blocks] + [bordered] + [cropped] + [tokens] +
             [Walk.unary, Walk.binary, Walk.binary, Walk.reduction,
              Walk.turned])

    LENGTHS = (3, 16)


if __name__ == "__main__":
    run(ImageWalk, __doc__, 25)
