#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of zoo.py: one list, and one function per family.

All weights are random. Blocks and widths are those of the published base or
small variant; where that is large there are fewer of its repeated layers, and
fewer words. Needs torch, torchvision, timm, transformers and diffusers.
"""
import dataclasses
from typing import Any, Callable

import timm
import torch
import torchvision
import transformers
from torch import nn

from zoo_blocks import (Cached, CachedSeq2Seq, Dlrm, Picked, RecurrentTagger,
                        TabularMlp, TabTransformer, Vocoder, picked)


@dataclasses.dataclass
class Model:
    module: nn.Module
    inputs: Callable[..., list]  # inputs(**sizes): one tensor per name
    names: list[str]
    axes: dict[str, dict[int, str]]  # Of inputs; all others are fixed.
    sizes: list[dict[str, int]]  # Of the symbols, one for each data set.
    outputs: Any = None


def words(count, *shape):
    return torch.randint(1, count, shape)


def mask(batch, length):
    """The last row is padded at its end."""
    ones = torch.ones(batch, length, dtype=torch.int64)
    if batch > 1:
        ones[-1, length - length // 4:] = 0
    return ones


# Images


def image(module, size=224, channels=3, batches=(1, 3)):
    return Model(module, lambda batch: [torch.randn(batch, channels, size, size)],
                 ["pixel_values"], {"pixel_values": {0: "batch"}},
                 [{"batch": batch} for batch in batches])


def timm_model(name, size=None, **options):
    module = timm.create_model(name, pretrained=False, exportable=True, **options)
    return image(module, size or module.default_cfg["input_size"][-1])


def vision(name, size=224, **options):
    return image(torchvision.models.get_model(name, weights=None, **options), size)


def segmentation(name, size=256):
    module = torchvision.models.get_model(name, weights=None, weights_backbone=None)
    model = image(picked(module, ["out"]), size)
    model.axes = {"pixel_values": {0: "batch", 2: "height", 3: "width"}}
    model.inputs = lambda batch, height, width: [torch.randn(batch, 3, height, width)]
    model.sizes = [{"batch": 1, "height": size, "width": size},
                   {"batch": 2, "height": 160, "width": 224}]
    return model


def detection(name, size=320, **options):
    module = torchvision.models.get_model(name, weights=None, weights_backbone=None, **options)

    class Boxes(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, image):
            found, = self.module([image])
            return found["boxes"], found["scores"], found["labels"]
    return Model(Boxes(), lambda: [torch.rand(3, size, size)], ["image"], {}, [{}])


def hf_image(kind, fields, size=224, batches=(1, 3), head=None, **options):
    module = (head or transformers.AutoModel.from_config)(config(kind, **options))
    model = image(Picked(module, ["pixel_values"], fields), size, batches=batches)
    return model


def sam_encoder():
    settings = transformers.SamVisionConfig(num_hidden_layers=3, global_attn_indexes=[2],
                                            image_size=512)
    module = transformers.SamVisionModel(settings)
    return image(Picked(module, ["pixel_values"], ["last_hidden_state"]), 512, batches=(1,))


# Text


def config(kind, **options):
    return transformers.AutoConfig.for_model(kind, **options)


def text(kind, head=None, types=False, masked=True, length=64, attention=None, fields=None,
         short=17, **options):
    options = {"vocab_size": 8192, **options}
    if "block_sizes" not in options:
        options.setdefault("num_hidden_layers", 4)
    settings = config(kind, **options)
    if attention:
        settings._attn_implementation = attention
    module = (head or transformers.AutoModel.from_config)(settings)
    names = ["input_ids"] + masked * ["attention_mask"] + types * ["token_type_ids"]

    def inputs(batch, seq):
        values = [words(options["vocab_size"], batch, seq)]
        values += masked * [mask(batch, seq)]
        return values + types * [torch.zeros(batch, seq, dtype=torch.int64)]
    return Model(Picked(module, names, fields or ["last_hidden_state"]), inputs, names,
                 {name: {0: "batch", 1: "seq"} for name in names},
                 [{"batch": 2, "seq": length}, {"batch": 3, "seq": short}])


def decoder(kind, attention=None, **options):
    """With past_key_values: the prompt's last tokens, then one at a time."""
    options = {"vocab_size": 8192, "num_hidden_layers": 2, **options}
    settings = config(kind, **options)
    if attention:
        settings._attn_implementation = attention
    settings._experts_implementation = "batched_mm"  # The default has no ONNX.
    module = Cached(transformers.AutoModelForCausalLM.from_config(settings))
    names = ["input_ids", "attention_mask"] + [
        f"past_key_values.{i}.{part}" for i in range(module.layers)
        for part in ("key", "value")]

    def inputs(batch, seq, past):
        total = torch.ones(batch, past + seq, dtype=torch.int64)
        return [words(options["vocab_size"], batch, seq), total] + [
            torch.randn(batch, heads, past, size) for heads, size in module.shapes]
    axes = {name: {0: "batch", 2: "past"} for name in names[2:]}
    axes |= {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "total"}}
    return Model(module, inputs, names, axes,
                 [{"batch": 1, "seq": 1, "past": 128}, {"batch": 2, "seq": 17, "past": 5}],
                 ["logits", *(name.replace("past_key_values", "present") for name in names[2:])])


def stateless(kind, **options):
    """A recurrent decoder over a whole prompt."""
    options = {"vocab_size": 8192, "num_hidden_layers": 2, **options}
    module = transformers.AutoModelForCausalLM.from_config(config(kind, **options))
    return Model(Picked(module, ["input_ids"], ["logits"], use_cache=False),
                 lambda batch, seq: [words(8192, batch, seq)], ["input_ids"],
                 {"input_ids": {0: "batch", 1: "seq"}},
                 [{"batch": 1, "seq": 32}, {"batch": 2, "seq": 17}])


def translator(kind, **options):
    options = {"vocab_size": 8192, **options}
    module = transformers.AutoModelForSeq2SeqLM.from_config(config(kind, **options))
    names = ["input_ids", "attention_mask", "decoder_input_ids"]
    return Model(Picked(module, names, ["logits"], use_cache=False),
                 lambda batch, seq, target: [words(8192, batch, seq), mask(batch, seq),
                                             words(8192, batch, target)],
                 names, {"input_ids": {0: "batch", 1: "seq"},
                         "attention_mask": {0: "batch", 1: "seq"},
                         "decoder_input_ids": {0: "batch", 1: "target"}},
                 [{"batch": 1, "seq": 64, "target": 16}, {"batch": 3, "seq": 17, "target": 5}])


def whisper_step():
    """Whisper's decoder, one token with caches of itself and of the audio."""
    settings = transformers.WhisperConfig(d_model=512, decoder_layers=3, encoder_layers=1,
                                          vocab_size=8192, decoder_attention_heads=8,
                                          pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                          encoder_attention_heads=8, decoder_ffn_dim=2048)
    module = CachedSeq2Seq(transformers.WhisperForConditionalGeneration(settings))
    names = ["decoder_input_ids", "encoder_hidden_states"] + [
        f"past_key_values.{i}.{part}" for i in range(3)
        for part in ("decoder.key", "decoder.value", "encoder.key", "encoder.value")]

    def inputs(batch, past):
        cache = [torch.randn(batch, 8, 1500 if i % 4 > 1 else past, 64) for i in range(12)]
        return [words(8192, batch, 1), torch.randn(batch, 1500, 512), *cache]
    axes = {name: {0: "batch"} for name in names}
    for i, name in enumerate(names[2:]):
        if i % 4 < 2:
            axes[name][2] = "past"
    return Model(module, inputs, names, axes, [{"batch": 1, "past": 32}, {"batch": 3, "past": 5}])


# Sound


def sound(kind, length=16000, head=None, fields=None, **options):
    settings = config(kind, **options)
    module = (head or transformers.AutoModel.from_config)(settings)
    return Model(Picked(module, ["input_values"], fields or ["last_hidden_state"]),
                 lambda batch, samples: [torch.randn(batch, samples)], ["input_values"],
                 {"input_values": {0: "batch", 1: "samples"}},
                 [{"batch": 1, "samples": length}, {"batch": 2, "samples": 9999}])


def whisper_encoder():
    settings = transformers.WhisperConfig(d_model=512, encoder_layers=3, decoder_layers=1,
                                          encoder_attention_heads=8, encoder_ffn_dim=2048,
                                          decoder_attention_heads=8)
    module = transformers.WhisperModel(settings).encoder
    return Model(Picked(module, ["input_features"], ["last_hidden_state"]),
                 lambda batch: [torch.randn(batch, 80, 3000)], ["input_features"],
                 {"input_features": {0: "batch"}}, [{"batch": 1}, {"batch": 2}])


def features(module, name, width, fields, length=128, short=37):
    return Model(Picked(module, [name], fields),
                 lambda batch, seq: [torch.randn(batch, seq, width)], [name],
                 {name: {0: "batch", 1: "seq"}},
                 [{"batch": 1, "seq": length}, {"batch": 2, "seq": short}])


def conformer():
    module = transformers.Wav2Vec2BertModel(transformers.Wav2Vec2BertConfig(
        num_hidden_layers=2, vocab_size=32))
    return features(module, "input_features", 160, ["last_hidden_state"])


def encodec(part):
    module = transformers.EncodecModel(transformers.EncodecConfig())
    if part == "encoder":
        return Model(module.encoder, lambda batch: [torch.randn(batch, 1, 24000)], ["audio"],
                     {"audio": {0: "batch"}}, [{"batch": 1}, {"batch": 2}])
    return Model(module.decoder, lambda batch: [torch.randn(batch, 128, 75)], ["codes"],
                 {"codes": {0: "batch"}}, [{"batch": 1}, {"batch": 2}])


def channels_first(module, channels, length=64, short=37):
    return Model(module, lambda batch, seq: [torch.randn(batch, channels, seq)], ["features"],
                 {"features": {0: "batch", 2: "seq"}},
                 [{"batch": 1, "seq": length}, {"batch": 2, "seq": short}])


# Two kinds of input


def image_and_text(module, fields, size=224, vocabulary=8192, length=16, **more):
    names = ["input_ids", "pixel_values", "attention_mask"]

    def inputs(batch, seq):
        return [words(vocabulary, batch, seq), torch.randn(batch, 3, size, size),
                torch.ones(batch, seq, dtype=torch.int64)]
    return Model(Picked(module, names, fields, **more), inputs, names,
                 {"input_ids": {0: "batch", 1: "seq"}, "pixel_values": {0: "batch"},
                  "attention_mask": {0: "batch", 1: "seq"}},
                 [{"batch": 2, "seq": length}, {"batch": 3, "seq": 7}])


def clip():
    return image_and_text(transformers.CLIPModel(transformers.CLIPConfig(
        text_config={"num_hidden_layers": 3, "vocab_size": 8192},
        vision_config={"num_hidden_layers": 3})),
        ["logits_per_image", "text_embeds", "image_embeds"])


def siglip():
    return image_and_text(transformers.SiglipModel(transformers.SiglipConfig(
        text_config={"num_hidden_layers": 3, "vocab_size": 8192},
        vision_config={"num_hidden_layers": 3})),
        ["logits_per_image", "text_embeds", "image_embeds"])


def blip():
    return image_and_text(transformers.BlipForImageTextRetrieval(transformers.BlipConfig(
        text_config={"num_hidden_layers": 3, "vocab_size": 8192},
        vision_config={"num_hidden_layers": 3, "image_size": 224})), ["itm_score"])


# Diffusion


def unet():
    import diffusers
    module = diffusers.UNet2DConditionModel(
        sample_size=32, block_out_channels=(160, 320, 640), layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=768, attention_head_dim=8)
    names = ["sample", "timestep", "encoder_hidden_states"]
    return Model(Picked(module, names, ["sample"]),
                 lambda batch: [torch.randn(batch, 4, 32, 32), torch.tensor([500]),
                                torch.randn(batch, 77, 768)], names,
                 {"sample": {0: "batch"}, "encoder_hidden_states": {0: "batch"}},
                 [{"batch": 1}, {"batch": 2}])


def diffusion_transformer():
    import diffusers
    module = diffusers.DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64,
                                             num_layers=4, sample_size=32)
    names = ["hidden_states", "timestep", "class_labels"]
    return Model(Picked(module, names, ["sample"]),
                 lambda batch: [torch.randn(batch, 4, 32, 32), torch.randint(0, 1000, (batch,)),
                                torch.randint(0, 1000, (batch,))], names,
                 {name: {0: "batch"} for name in names}, [{"batch": 1}, {"batch": 2}])


def vae_decoder():
    import diffusers
    module = diffusers.AutoencoderKL(
        block_out_channels=(64, 128, 256), latent_channels=4, layers_per_block=1,
        down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3)
    module.forward = lambda latents: module.decode(latents).sample
    return Model(module, lambda batch: [torch.randn(batch, 4, 32, 32)], ["latents"],
                 {"latents": {0: "batch"}}, [{"batch": 1}, {"batch": 2}])


# Tables and series


def series(module, names, channels, length, fields):
    return Model(Picked(module, names, fields),
                 lambda batch: [torch.randn(batch, length, channels)], names,
                 {names[0]: {0: "batch"}}, [{"batch": 4}, {"batch": 3}])


def patchtst():
    return series(transformers.PatchTSTForPrediction(transformers.PatchTSTConfig(
        num_input_channels=7, context_length=512, patch_length=16, patch_stride=8,
        prediction_length=96, d_model=128, num_attention_heads=16, ffn_dim=256)),
        ["past_values"], 7, 512, ["prediction_outputs"])


def patchtsmixer():
    return series(transformers.PatchTSMixerForPrediction(transformers.PatchTSMixerConfig(
        num_input_channels=7, context_length=512, patch_length=16, patch_stride=16,
        prediction_length=96, d_model=64)), ["past_values"], 7, 512, ["prediction_outputs"])


def forecaster(kind):
    """History and known features of time, in an encoder and a decoder."""
    settings = config(kind, prediction_length=24, context_length=96, lags_sequence=[1, 2, 3],
                      num_time_features=2, encoder_layers=2, decoder_layers=2, d_model=64)
    module = {"informer": transformers.InformerModel,
              "time_series_transformer": transformers.TimeSeriesTransformerModel}[kind](settings)
    names = ["past_values", "past_time_features", "past_observed_mask", "future_values",
             "future_time_features"]

    def inputs(batch):
        past = 96 + 3
        return [torch.randn(batch, past), torch.randn(batch, past, 2), torch.ones(batch, past),
                torch.randn(batch, 24), torch.randn(batch, 24, 2)]
    return Model(Picked(module, names, ["last_hidden_state"], use_cache=False), inputs, names,
                 {name: {0: "batch"} for name in names}, [{"batch": 2}, {"batch": 3}])


def dlrm():
    return Model(Dlrm(), lambda batch: [torch.randn(batch, 13), words(10000, batch, 26)],
                 ["dense", "sparse"], {"dense": {0: "batch"}, "sparse": {0: "batch"}},
                 [{"batch": 64}, {"batch": 3}])


def embedding_bag():
    from zoo_blocks import Bags
    return Model(Bags(), lambda batch: [words(10000, batch, 20)], ["words"],
                 {"words": {0: "batch"}}, [{"batch": 64}, {"batch": 3}])


def tabular():
    return Model(TabularMlp(), lambda batch: [torch.randn(batch, 128)], ["x"],
                 {"x": {0: "batch"}}, [{"batch": 64}, {"batch": 3}])


def tab_transformer():
    return Model(TabTransformer(), lambda batch: [words(1000, batch, 12), torch.randn(batch, 8)],
                 ["categories", "numbers"], {"categories": {0: "batch"}, "numbers": {0: "batch"}},
                 [{"batch": 64}, {"batch": 3}])


def recurrent(kind):
    return Model(RecurrentTagger(kind), lambda batch, seq: [words(8192, batch, seq)],
                 ["input_ids"], {"input_ids": {0: "batch", 1: "seq"}},
                 [{"batch": 2, "seq": 64}, {"batch": 3, "seq": 17}])


# The list: a name, how it is built, and the arguments. Those whose name ends in
# "-ts" are exported by TorchScript, all others by torch.export.
ZOO = {
    # Convolutional networks
    "resnet50": (vision, "resnet50"),
    "resnet18-ts": (vision, "resnet18"),
    "resnext50": (vision, "resnext50_32x4d"),
    "regnet_y": (vision, "regnet_y_1_6gf"),
    "efficientnet_b0-ts": (vision, "efficientnet_b0"),
    "efficientnet_v2_s": (vision, "efficientnet_v2_s"),
    "mobilenet_v2-ts": (vision, "mobilenet_v2"),
    "mobilenet_v3_large": (vision, "mobilenet_v3_large"),
    "densenet121": (vision, "densenet121"),
    "shufflenet_v2": (vision, "shufflenet_v2_x1_0"),
    "squeezenet-ts": (vision, "squeezenet1_1"),
    "inception_v3": (vision, "inception_v3", 299, ("init_weights", False)),
    "googlenet-ts": (vision, "googlenet", 224, ("init_weights", False)),
    "vgg11_bn": (vision, "vgg11_bn", 112),
    "alexnet-ts": (vision, "alexnet"),
    "convnext_tiny": (vision, "convnext_tiny"),
    "mobilenet_v4": (timm_model, "mobilenetv4_conv_small"),
    "convnext_v2": (timm_model, "convnextv2_nano"),
    "nfnet": (timm_model, "nf_resnet50"),
    "res2net": (timm_model, "res2net50_26w_4s"),
    "hrnet-ts": (timm_model, "hrnet_w18_small"),
    "dla34": (timm_model, "dla34"),
    "ghostnet-ts": (timm_model, "ghostnet_100"),
    "repvgg": (timm_model, "repvgg_a0"),
    "cspdarknet53": (timm_model, "cspdarknet53"),
    "hgnet_v2": (timm_model, "hgnetv2_b0"),
    "mambaout": (timm_model, "mambaout_femto"),
    "starnet": (timm_model, "starnet_s1"),
    "focalnet": (timm_model, "focalnet_tiny_srf"),
    "resnest": (timm_model, "resnest14d"),
    "skresnet-ts": (timm_model, "skresnet18"),
    "inception_next": (timm_model, "inception_next_tiny"),
    # Vision transformers and their mixtures with convolutions
    "vit": (timm_model, "vit_small_patch16_224"),
    "vit-ts": (vision, "vit_b_16"),
    "deit3": (timm_model, "deit3_small_patch16_224"),
    "beit": (timm_model, "beit_base_patch16_224", None, ("depth", 4)),
    "eva02": (timm_model, "eva02_tiny_patch14_224"),
    "cait": (timm_model, "cait_xxs24_224"),
    "xcit": (timm_model, "xcit_tiny_12_p16_224"),
    "swin": (vision, "swin_t"),
    "swin-ts": (timm_model, "swin_tiny_patch4_window7_224"),
    "swin_v2": (timm_model, "swinv2_tiny_window8_256"),
    "maxvit": (timm_model, "maxvit_tiny_tf_224"),
    "coatnet": (timm_model, "coatnet_nano_rw_224"),
    "pvt_v2": (timm_model, "pvt_v2_b1"),
    "levit-ts": (timm_model, "levit_128s"),
    "mobilevit": (timm_model, "mobilevit_s"),
    "mobilevit_v2-ts": (timm_model, "mobilevitv2_100"),
    "efficientformer": (timm_model, "efficientformer_l1"),
    "edgenext-ts": (timm_model, "edgenext_small"),
    "poolformer": (timm_model, "poolformer_s12"),
    "hiera": (timm_model, "hiera_tiny_224"),
    "tiny_vit": (timm_model, "tiny_vit_5m_224"),
    "efficientvit": (timm_model, "efficientvit_b1"),
    "fastvit-ts": (timm_model, "fastvit_t8"),
    "twins": (timm_model, "twins_svt_small"),
    "crossvit": (timm_model, "crossvit_tiny_240"),
    "volo": (timm_model, "volo_d1_224"),
    "gcvit": (timm_model, "gcvit_xxtiny"),
    "davit": (timm_model, "davit_tiny"),
    "mvit_v2": (timm_model, "mvitv2_tiny"),
    "mixer": (timm_model, "mixer_s32_224"),
    "halonet": (timm_model, "halonet26t"),
    "lambda_resnet": (timm_model, "lambda_resnet26t"),
    "sequencer": (timm_model, "sequencer2d_s"),
    "dinov2": (hf_image, "dinov2", ["last_hidden_state"], 224, ("num_hidden_layers", 4)),
    "dinov3": (hf_image, "dinov3_vit", ["last_hidden_state"], 224, ("num_hidden_layers", 4)),
    # Segmentation, detection, depth
    "deeplab_v3": (segmentation, "deeplabv3_mobilenet_v3_large"),
    "fcn-ts": (segmentation, "fcn_resnet50"),
    "lraspp": (segmentation, "lraspp_mobilenet_v3_large"),
    "ssdlite-ts": (detection, "ssdlite320_mobilenet_v3_large"),
    "retinanet-ts": (detection, "retinanet_resnet50_fpn"),
    "fasterrcnn-ts": (detection, "fasterrcnn_mobilenet_v3_large_320_fpn", 320,
                      ("box_score_thresh", 0.01)),
    "detr": (hf_image, "detr", ["logits", "pred_boxes"], 320,
             ("head", transformers.AutoModelForObjectDetection.from_config),
             ("encoder_layers", 2), ("decoder_layers", 2), ("use_pretrained_backbone", False)),
    "yolos-ts": (hf_image, "yolos", ["logits", "pred_boxes"], 224,
                 ("head", transformers.AutoModelForObjectDetection.from_config),
                 ("num_hidden_layers", 4), ("image_size", [224, 224]), ("hidden_size", 384),
                 ("num_attention_heads", 6), ("intermediate_size", 1536)),
    "segformer": (hf_image, "segformer", ["logits"], 256,
                  ("head", transformers.AutoModelForSemanticSegmentation.from_config)),
    "dpt": (hf_image, "dpt", ["predicted_depth"], 224,
            ("head", transformers.AutoModelForDepthEstimation.from_config),
            ("num_hidden_layers", 4), ("backbone_out_indices", [0, 1, 2, 3]),
            ("image_size", 224), ("is_hybrid", False)),
    "sam_encoder": (sam_encoder,),
    # Encoders of text
    "bert": (text, "bert", ("types", True)),
    "bert-ts": (text, "bert", ("types", True), ("attention", "eager")),
    "distilbert-ts": (text, "distilbert", ("n_layers", 4)),
    "roberta": (text, "roberta", ("max_position_embeddings", 514)),
    "deberta_v2": (text, "deberta-v2", ("relative_attention", True),
                   ("pos_att_type", ["p2c", "c2p"]), ("position_buckets", 256),
                   ("max_relative_positions", -1), ("norm_rel_ebd", "layer_norm"),
                   ("share_att_key", True), ("position_biased_input", False)),
    "electra": (text, "electra", ("hidden_size", 256)),
    "albert-ts": (text, "albert", ("hidden_size", 768), ("num_attention_heads", 12),
                  ("intermediate_size", 3072)),
    "mpnet": (text, "mpnet"),
    "modernbert": (text, "modernbert", ("length", 160), ("pad_token_id", 0)),
    "nomic_bert": (text, "nomic_bert"),
    "xlnet": (text, "xlnet", ("n_layer", 3), ("d_model", 768), ("n_head", 12),
              ("d_inner", 3072)),
    "longformer-ts": (text, "longformer", ("num_hidden_layers", 2), ("attention_window", [64, 64]),
                      ("length", 256), ("short", 128)),
    "fnet": (text, "fnet", ("masked", False)),
    "squeezebert": (text, "squeezebert"),
    "mobilebert-ts": (text, "mobilebert"),
    "convbert": (text, "convbert"),
    "funnel": (text, "funnel", ("block_sizes", [2, 2, 2])),
    # Decoders
    "gpt2": (decoder, "gpt2", ("n_layer", 3)),
    "gpt2-ts": (decoder, "gpt2", ("n_layer", 3), ("attention", "eager")),
    "gpt_neox": (decoder, "gpt_neox", ("hidden_size", 1024), ("num_attention_heads", 16),
                 ("intermediate_size", 4096)),
    "gpt_neo": (decoder, "gpt_neo", ("num_layers", 2), ("attention_types",
                                                        [[["global", "local"], 1]]),
                ("hidden_size", 768), ("num_heads", 12)),
    "gptj": (decoder, "gptj", ("n_layer", 2), ("n_embd", 1024), ("n_head", 16)),
    "opt": (decoder, "opt"),
    "bloom": (decoder, "bloom", ("n_layer", 2), ("hidden_size", 1024), ("n_head", 16)),
    "llama": (decoder, "llama", ("hidden_size", 2048), ("intermediate_size", 8192),
              ("num_attention_heads", 32), ("num_key_value_heads", 8)),
    "llama-ts": (decoder, "llama", ("hidden_size", 1024), ("intermediate_size", 2816),
                 ("num_attention_heads", 16), ("num_key_value_heads", 4), ("attention", "eager")),
    "mistral": (decoder, "mistral", ("hidden_size", 1024), ("intermediate_size", 3584),
                ("num_attention_heads", 16), ("num_key_value_heads", 4), ("sliding_window", 64)),
    "qwen2": (decoder, "qwen2", ("hidden_size", 896), ("intermediate_size", 4864),
              ("num_attention_heads", 14), ("num_key_value_heads", 2)),
    "qwen3": (decoder, "qwen3", ("hidden_size", 1024), ("intermediate_size", 3072),
              ("num_attention_heads", 16), ("num_key_value_heads", 8), ("head_dim", 128)),
    "qwen3_moe": (decoder, "qwen3_moe", ("hidden_size", 512), ("moe_intermediate_size", 256),
                  ("num_experts", 16), ("num_experts_per_tok", 4), ("num_attention_heads", 8),
                  ("num_key_value_heads", 2), ("head_dim", 64)),
    "gemma": (decoder, "gemma", ("hidden_size", 1024), ("intermediate_size", 4096),
              ("num_attention_heads", 4), ("num_key_value_heads", 1), ("head_dim", 256)),
    "gemma2": (decoder, "gemma2", ("hidden_size", 1152), ("intermediate_size", 4608),
               ("num_attention_heads", 4), ("num_key_value_heads", 2), ("sliding_window", 64),
               ("attention", "eager")),
    "gemma3": (decoder, "gemma3_text", ("hidden_size", 640), ("intermediate_size", 2048),
               ("num_attention_heads", 4), ("num_key_value_heads", 1), ("sliding_window", 64)),
    "phi": (decoder, "phi", ("hidden_size", 1024), ("intermediate_size", 4096),
            ("num_attention_heads", 16)),
    "phi3": (decoder, "phi3", ("hidden_size", 1536), ("intermediate_size", 4096),
             ("num_attention_heads", 16), ("num_key_value_heads", 16), ("pad_token_id", 0)),
    "falcon": (decoder, "falcon", ("hidden_size", 1024), ("num_attention_heads", 16)),
    "stablelm": (decoder, "stablelm", ("hidden_size", 1024), ("intermediate_size", 2816),
                 ("num_attention_heads", 16), ("num_key_value_heads", 16)),
    "mixtral": (decoder, "mixtral", ("hidden_size", 512), ("intermediate_size", 1024),
                ("num_attention_heads", 8), ("num_key_value_heads", 2), ("num_local_experts", 8)),
    "olmo2": (decoder, "olmo2", ("hidden_size", 1024), ("intermediate_size", 4096),
              ("num_attention_heads", 16)),
    "granite": (decoder, "granite", ("hidden_size", 1024), ("intermediate_size", 4096),
                ("num_attention_heads", 16), ("num_key_value_heads", 4)),
    "smollm3": (decoder, "smollm3", ("hidden_size", 1024), ("intermediate_size", 4096),
                ("num_attention_heads", 16), ("num_key_value_heads", 4), ("pad_token_id", 0)),
    "cohere": (decoder, "cohere", ("hidden_size", 1024), ("intermediate_size", 2816),
               ("num_attention_heads", 16), ("num_key_value_heads", 4)),
    "gpt_oss": (decoder, "gpt_oss", ("hidden_size", 512), ("intermediate_size", 512),
                ("num_attention_heads", 8), ("num_key_value_heads", 2), ("head_dim", 64),
                ("num_local_experts", 8), ("attention", "eager")),
    "deepseek_v3": (decoder, "deepseek_v3", ("hidden_size", 512), ("intermediate_size", 1024),
                    ("moe_intermediate_size", 256), ("n_routed_experts", 16), ("n_group", 4),
                    ("topk_group", 2), ("num_experts_per_tok", 4), ("num_attention_heads", 8),
                    ("num_key_value_heads", 8), ("first_k_dense_replace", 1)),
    "mamba-ts": (stateless, "mamba", ("hidden_size", 768)),
    "mamba2": (stateless, "mamba2", ("hidden_size", 512), ("num_heads", 16), ("head_dim", 64),
               ("n_groups", 1), ("chunk_size", 16)),
    "rwkv-ts": (stateless, "rwkv", ("hidden_size", 768), ("attention_hidden_size", 768)),
    # Encoders with decoders
    "t5": (translator, "t5", ("d_model", 512), ("num_layers", 3), ("num_decoder_layers", 3)),
    "t5-ts": (translator, "t5", ("d_model", 512), ("num_layers", 3), ("num_decoder_layers", 3)),
    "bart": (translator, "bart", ("d_model", 768), ("encoder_layers", 2), ("decoder_layers", 2),
             ("encoder_attention_heads", 12), ("decoder_attention_heads", 12),
             ("encoder_ffn_dim", 3072), ("decoder_ffn_dim", 3072)),
    "marian-ts": (translator, "marian", ("d_model", 512), ("encoder_layers", 3),
                  ("decoder_layers", 3), ("encoder_ffn_dim", 2048), ("decoder_ffn_dim", 2048),
                  ("encoder_attention_heads", 8), ("decoder_attention_heads", 8),
                  ("pad_token_id", 0), ("decoder_start_token_id", 0)),
    "whisper_decoder": (whisper_step,),
    # Sound
    "whisper_encoder": (whisper_encoder,),
    "wav2vec2-ts": (sound, "wav2vec2", ("num_hidden_layers", 3)),
    "hubert": (sound, "hubert", ("num_hidden_layers", 3)),
    "wavlm": (sound, "wavlm", ("num_hidden_layers", 3)),
    "conformer": (conformer,),
    "encodec_encoder-ts": (encodec, "encoder"),
    "encodec_decoder-ts": (encodec, "decoder"),
    "vocoder": (lambda: channels_first(Vocoder(), 80),),
    # Two kinds of input
    "clip": (clip,),
    "siglip": (siglip,),
    "blip-ts": (blip,),
    # Diffusion
    "unet": (unet,),
    "dit": (diffusion_transformer,),
    "vae_decoder": (vae_decoder,),
    # Recurrent networks, tables, series
    "lstm_tagger": (recurrent, "lstm"),
    "gru_tagger-ts": (recurrent, "gru"),
    "tabular_mlp": (tabular,),
    "tab_transformer": (tab_transformer,),
    "dlrm": (dlrm,),
    "embedding_bag-ts": (embedding_bag,),
    "patchtst": (patchtst,),
    "patchtsmixer": (patchtsmixer,),
    "informer": (forecaster, "informer"),
    "time_series": (forecaster, "time_series_transformer"),
}


def timm_families(millions):
    """The smallest model of each class and stem of names in timm, of 3 M parameters at
    least where one has them: those of at most so many, for images of up to 288 pixels."""
    smallest = {}
    for name in timm.list_models():
        try:
            with torch.device("meta"):
                module = timm.create_model(name)
        except Exception:  # Not all can be made there.
            continue
        stem = name.split("_")[0].rstrip("0123456789")
        family = type(module).__module__, type(module).__name__, stem
        count = sum(weights.numel() for weights in module.parameters())
        rank = count < 3e6, count
        if family not in smallest or rank < smallest[family][0]:
            size = module.default_cfg.get("input_size", (3, 224, 224))[-1]
            smallest[family] = rank, name, size
    return sorted(name for (_, count), name, size in smallest.values()
                  if count <= millions * 1e6 and size <= 288)


def build(name):
    if name.startswith("timm-"):  # As those are listed: one image, no size left open.
        model = timm_model(name.removeprefix("timm-"))
        model.axes, model.sizes = {}, model.sizes[:1]
    else:
        make, *given = ZOO[name]
        plain = [value for value in given if not isinstance(value, tuple)]
        model = make(*plain, **dict(value for value in given if isinstance(value, tuple)))
    model.module.eval()
    randomise(model.module)
    return model


def randomise(module):
    """Fresh modules have many ones and zeros; a wrong bias would not show."""
    with torch.no_grad():
        for weights in module.parameters():
            if weights.is_floating_point() and weights.numel() > 1 and weights.std() == 0:
                weights += 0.1 * torch.randn_like(weights)
        for part in module.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
