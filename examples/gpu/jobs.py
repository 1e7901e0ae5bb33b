"""jobs.py KIND (--seconds S | --steps N): one job as people run them on a GPU, on made-up data.

With --seconds it does what it can in that time and prints the steps; with --steps it does so many.
The last line is JSON. Kinds: gpt, resnet, vit, decode (PyTorch), jax, cupy.
"""
import argparse
import json
import time


def trainer(best, loss_of):
    """A step of training in bfloat16, by PyTorch."""
    import torch

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of()
        best.zero_grad()
        loss.backward()
        best.step()
        return float(loss)
    return step


def gpt():
    """Trains a language model of the size of GPT-2: 12 layers of 768, sequences of 1,024."""
    import torch
    from torch import nn
    words, width = 50257, 768
    layer = nn.TransformerEncoderLayer(width, 12, 4 * width, 0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(words, width), nn.TransformerEncoder(layer, 12),
                          nn.Linear(width, words)).cuda()
    best = torch.optim.AdamW(model.parameters(), 1e-4)

    def loss():
        text = torch.randint(words, (8, 1024), device="cuda")
        return nn.functional.cross_entropy(model(text).flatten(0, 1), text.flatten())
    return trainer(best, loss)


def resnet():
    """Trains ResNet-50 on batches of 192 images."""
    import torch
    import torchvision
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    best = torch.optim.SGD(model.parameters(), 0.01, 0.9)

    def loss():
        images = torch.randn(192, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        kinds = torch.randint(1000, (192,), device="cuda")
        return torch.nn.functional.cross_entropy(model(images), kinds)
    return trainer(best, loss)


def vit():
    """Classifies batches of 64 images, which the processor makes, by ViT-B/16."""
    import torch
    import torchvision
    model = torchvision.models.vit_b_16().cuda().eval()

    @torch.inference_mode()
    def step():
        images = torch.rand(64, 3, 256, 256)
        images = torchvision.transforms.functional.center_crop(images, [224, 224])
        return float(model(images.cuda()).argmax(1)[0])
    return step


def decode():
    """Decodes: a cache of keys and values grows by 64 MiB a step, to 20 GiB, and begins again."""
    import torch
    cache = []
    one = torch.randn(64, 4096, device="cuda", dtype=torch.half)

    @torch.inference_mode()
    def step():
        if len(cache) == 320:
            cache.clear()
        cache.append(torch.randn(8192, 4096, device="cuda", dtype=torch.half))
        total = 0.0
        for block in cache[-64:]:
            total = total + (one @ block.T).softmax(1)[0, 0]
        time.sleep(0.01)  # the network
        return float(total)
    return step


def jax():
    """Trains a network of four layers by JAX."""
    import jax
    from jax import numpy
    weights = [numpy.eye(4096) * 0.5 for _ in range(4)]

    def loss(weights, x):
        for weight in weights:
            x = numpy.tanh(x @ weight)
        return (x ** 2).mean()
    slope = jax.jit(jax.grad(loss))
    key = jax.random.PRNGKey(1)

    def step():
        nonlocal weights
        x = jax.random.normal(key, (8192, 4096))
        weights = [w - 0.01 * g for w, g in zip(weights, slope(weights, x))]
        return float(weights[0][0, 0])
    return step


def cupy():
    """Sorts and transforms arrays of 1 GiB by CuPy."""
    import cupy

    def step():
        numbers = cupy.random.rand(1 << 27, dtype=cupy.float64)
        numbers.sort()
        return float(cupy.abs(cupy.fft.rfft(numbers)).max())
    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["gpt", "resnet", "vit", "decode", "jax", "cupy"])
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--seconds", type=float)
    length.add_argument("--steps", type=int)
    options = parser.parse_args()
    step = globals()[options.kind]()
    last, steps = step(), 1
    while options.kind == "decode" and options.seconds and steps < 321:  # once to its peak
        last, steps = step(), steps + 1
    start = time.monotonic()
    while (steps < options.steps if options.steps else time.monotonic() - start < options.seconds):
        last, steps = step(), steps + 1
    told = {"kind": options.kind, "steps": steps, "last": last}
    if options.kind in ("gpt", "resnet", "vit", "decode"):
        import torch
        told["reserved"] = torch.cuda.max_memory_reserved() / 2**30
    print(json.dumps(told))


if __name__ == "__main__":
    main()
