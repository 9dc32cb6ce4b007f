# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What zoo_models.py adds to the packages: wrappers that take and give tensors
alone, as an exported file does, and small networks of kinds that they lack."""
import torch
import transformers
from torch import nn


class Picked(nn.Module):
    """Calls a module by names and returns the named fields of its result."""

    def __init__(self, module, names, fields, **more):
        super().__init__()
        self.module, self.names, self.fields, self.more = module, names, fields, more

    def forward(self, *values):
        result = self.module(**dict(zip(self.names, values)), **self.more)
        return tuple(result[field] for field in self.fields)


def picked(module, fields):
    """For a module whose one input has no name."""
    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, value):
            result = self.module(value)
            return tuple(result[field] for field in fields)
    return First()


class Cached(nn.Module):
    """A decoder whose caches are inputs and outputs, keys and values in turn."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        with torch.no_grad():
            cache = module(torch.ones(1, 1, dtype=torch.int64)).past_key_values
        self.shapes = [tuple(part.shape[i] for i in (1, 3)) for layer in cache.layers
                       for part in (layer.keys, layer.values)]
        self.layers = len(cache.layers)

    def forward(self, input_ids, attention_mask, *past):
        cache = transformers.DynamicCache(list(zip(past[::2], past[1::2])))
        result = self.module(input_ids=input_ids, attention_mask=attention_mask,
                             past_key_values=cache, use_cache=True)
        present = [part for layer in result.past_key_values.layers
                   for part in (layer.keys, layer.values)]
        return result.logits, *present


class CachedSeq2Seq(nn.Module):
    """A decoder with a cache of its own past and one of the encoder's output."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, input_ids, encoder_hidden_states, *past):
        cache = transformers.EncoderDecoderCache(
            transformers.DynamicCache(list(zip(past[0::4], past[1::4]))),
            transformers.DynamicCache(list(zip(past[2::4], past[3::4]))))
        result = self.module(decoder_input_ids=input_ids, encoder_outputs=(encoder_hidden_states,),
                             past_key_values=cache, use_cache=True)
        own = result.past_key_values.self_attention_cache
        return result.logits, *(part for layer in own.layers
                                for part in (layer.keys, layer.values))


class Vocoder(nn.Module):
    """Like HiFi-GAN's generator: transposed convolutions, dilated residuals."""

    def __init__(self, channels=80, width=256, steps=(8, 8, 2, 2)):
        super().__init__()
        self.first = nn.Conv1d(channels, width, 7, padding=3)
        self.ups, self.residuals = nn.ModuleList(), nn.ModuleList()
        for step in steps:
            self.ups.append(nn.ConvTranspose1d(width, width // 2, 2 * step, step,
                                               padding=step // 2))
            width //= 2
            self.residuals.append(nn.ModuleList(
                nn.Conv1d(width, width, size, dilation=d, padding=(size - 1) // 2 * d)
                for size in (3, 7) for d in (1, 3)))
        self.last = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, residuals in zip(self.ups, self.residuals):
            x = up(nn.functional.leaky_relu(x, 0.1))
            for residual in residuals:
                x = x + residual(nn.functional.leaky_relu(x, 0.1))
        return torch.tanh(self.last(nn.functional.leaky_relu(x)))


class RecurrentTagger(nn.Module):
    def __init__(self, kind, vocabulary=8192, width=256):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        layer = {"lstm": nn.LSTM, "gru": nn.GRU}[kind]
        self.layers = layer(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(2 * width, 32)

    def forward(self, words):
        return self.tags(self.layers(self.table(words))[0]).log_softmax(-1)


class TabularMlp(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [128, 512, 512, 256, 64]
        self.layers = nn.Sequential(*(
            layer for a, b in zip(sizes, sizes[1:])
            for layer in (nn.Linear(a, b), nn.BatchNorm1d(b), nn.SiLU())), nn.Linear(64, 1))

    def forward(self, x):
        return torch.sigmoid(self.layers(x))


class TabTransformer(nn.Module):
    """Each category is a token; numbers join after the encoder."""

    def __init__(self, fields=12, numbers=8, width=64):
        super().__init__()
        self.table = nn.Embedding(1000, width)
        self.column = nn.Parameter(torch.randn(fields, width))
        layer = nn.TransformerEncoderLayer(width, 4, 128, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(fields * width + numbers, 128), nn.ReLU(),
                                  nn.Linear(128, 2))

    def forward(self, categories, numbers):
        x = self.encoder(self.table(categories) + self.column)
        return self.head(torch.cat([x.flatten(1), numbers], -1))


class Dlrm(nn.Module):
    """Tables of categories, pairwise products with the dense part, two MLPs."""

    def __init__(self, tables=26, rows=10000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                    nn.Linear(256, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + width, 512), nn.ReLU(), nn.Linear(512, 256),
                                 nn.ReLU(), nn.Linear(256, 1), nn.Sigmoid())
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        rows = torch.stack([x, *(table(sparse[:, i]) for i, table in enumerate(self.tables))], 1)
        products = rows @ rows.transpose(1, 2)
        return self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1))


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(10000, 128, mode="mean")
        self.head = nn.Linear(128, 10)

    def forward(self, words):
        return self.head(self.bag(words))
