"""out_of_memory.py KIND: a program that runs out of GPU memory, as the libraries tell it, or one
that ends in another way that looks like it. --list prints the kinds and how berth should say that
each ended.
"""
import subprocess
import sys

KINDS = {}


def kind(state):
    def keep(program):
        KINDS[program.__name__] = (state, program)
        return program
    return keep


def fill():
    """Takes GPU memory by PyTorch until there is none; what it returns keeps it."""
    import torch
    kept, size = [], 1 << 30
    while size >= 1 << 20:
        try:
            kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size //= 2
    return kept


def net(layers=4, width=4096):
    import torch
    return torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)])


# ---- PyTorch and what stands on it --------------------------------------------------------------

@kind("oom")
def torch_training():
    import torch
    model, kept = net().cuda(), []
    while True:
        kept.append(model(torch.randn(32768, 4096, device="cuda")))


@kind("oom")
def torch_told_by_its_own_words():
    import torch
    try:
        torch.empty(200 << 30, dtype=torch.uint8, device="cuda")
    except RuntimeError as error:
        print(f"Epoch 3 failed: {str(error)[:60]}")
        sys.exit(3)


@kind("oom")
def torch_worker():
    import torch.multiprocessing
    torch.multiprocessing.spawn(worker, nprocs=2)


def worker(rank):
    fill()
    torch_training()


@kind("oom")
def torchrun():
    sys.exit(subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone",
                             "--nproc-per-node", "1", __file__, "torch_training"]).returncode)


@kind("oom")
def accelerate_launch():
    sys.exit(subprocess.run([sys.executable, "-m", "accelerate.commands.launch",
                             "--num_processes", "1", "--num_machines", "1", "--mixed_precision",
                             "no", "--dynamo_backend", "no", __file__,
                             "torch_training"]).returncode)


@kind("done")
def accelerate_finds_its_batch():
    import torch
    from accelerate.utils import find_executable_batch_size
    model = net().cuda()

    @find_executable_batch_size(starting_batch_size=1 << 22)
    def train(batch):
        model(torch.randn(batch, 4096, device="cuda")).sum().backward()
        print("trained with", batch)
    train()


@kind("oom")
def lightning():
    import lightning
    import torch
    from lightning.fabric.plugins.environments import LightningEnvironment

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net()
            self.kept = []

        def training_step(self, batch, _):
            self.kept.append(torch.randn(1 << 28, device="cuda"))
            return self.net(batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())
    rows = torch.utils.data.DataLoader(torch.randn(4096, 4096), batch_size=8)
    alone = LightningEnvironment()  # it does not look for MPI, which may fail to start
    lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False,
                      plugins=[alone]).fit(Model(), rows)


@kind("oom")
def transformers():
    import torch
    import transformers
    config = transformers.GPT2Config(n_layer=24, n_embd=2048, n_head=16)
    model = transformers.GPT2LMHeadModel(config).cuda()
    while True:
        model(torch.randint(50000, (64, 1024), device="cuda"),
              labels=torch.randint(50000, (64, 1024), device="cuda"))


@kind("oom")
def torch_compile():
    import torch
    step = torch.compile(lambda x: (x @ x.T).softmax(-1) @ x)
    step(torch.randn(1 << 18, 1024, device="cuda"))


@kind("oom")
def cublas_without_room():
    kept = fill()
    import torch
    a = kept[0][:1 << 20].view(torch.float32).view(512, 512)
    print(torch.mm(a, a).sum(), len(kept))


@kind("oom")
def cudnn_without_room():
    import torch
    images = torch.randn(64, 64, 112, 112, device="cuda")
    model = torch.nn.Conv2d(64, 64, 3).cuda()
    kept = fill()
    print(model(images).sum(), len(kept))


@kind("oom")
def no_room_for_a_context():
    kept = fill()
    sys.exit(subprocess.run([sys.executable, __file__, "torch_training"]).returncode or len(kept))


# ---- Others -------------------------------------------------------------------------------------

@kind("oom")
def jax_array():
    import jax.numpy
    kept = []
    while True:
        kept.append(jax.numpy.ones((1 << 28,)).block_until_ready())


@kind("oom")
def jax_jit():
    import jax
    x = jax.numpy.ones((1 << 18, 64))
    print(jax.jit(lambda x: jax.nn.softmax(x @ x.T) @ (x @ x.T))(x).sum())


@kind("oom")
def jax_without_room():
    kept = fill()
    sys.exit(subprocess.run([sys.executable, __file__, "jax_array"]).returncode or len(kept))


@kind("oom")
def flax_training():
    import jax
    from flax import linen
    model = linen.Dense(65536)
    x = jax.numpy.ones((65536, 65536))
    weights = model.init(jax.random.key(0), x)
    print(jax.grad(lambda w: model.apply(w, x).sum())(weights))


@kind("oom")
def cupy():
    import cupy
    kept = []
    while True:
        kept.append(cupy.ones(1 << 27))


@kind("oom")
def cupy_managed_limit():
    import cupy
    cupy.get_default_memory_pool().set_limit(size=1 << 30)
    print(cupy.ones(1 << 28))


@kind("oom")
def numba():
    from numba import cuda
    kept = []
    while True:
        kept.append(cuda.device_array(1 << 30, dtype="u1"))


@kind("oom")
def cuda_python():
    from cuda.bindings import driver
    driver.cuInit(0)
    _, device = driver.cuDeviceGet(0)
    driver.cuCtxCreate(None, 0, device)
    while True:
        error, _ = driver.cuMemAlloc(1 << 30)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"driver call failed: {error}")


@kind("oom")
def cuda_core():
    from cuda.core import Device
    device = Device()
    device.set_current()
    kept = []
    while True:
        kept.append(device.allocate(1 << 30, stream=device.default_stream))


CHECKED = """
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \\
  fprintf(stderr, "%s:%d: %s\\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
int main() { for (;;) { void *p; CHECK(cudaMalloc(&p, 1 << 30)); } }
"""
THRUST = """
#include <thrust/device_vector.h>
#include <vector>
int main() { std::vector<thrust::device_vector<char>> v; for (;;) v.emplace_back(1 << 30); }
"""
UNCHECKED = """
#include <cuda_runtime.h>
#include <cstdio>
__global__ void set(char *p) { p[threadIdx.x] = 1; }
int main() { char *p = 0; cudaMalloc(&p, 1ull << 40); set<<<1, 32>>>(p);
  cudaError_t e = cudaDeviceSynchronize(); printf("result %s\\n", cudaGetErrorName(e)); return e != 0; }
"""


def compiled(text):
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/main.cu", "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["nvcc", "-o", f"{folder}/main", f"{folder}/main.cu"], check=True)
        sys.exit(subprocess.run([f"{folder}/main"]).returncode % 256)


@kind("oom")
def cuda_checked():
    compiled(CHECKED)


@kind("oom")
def cuda_thrust():
    compiled(THRUST)


@kind("failed")
def cuda_unchecked():
    compiled(UNCHECKED)


# ---- What is not out of memory ------------------------------------------------------------------

@kind("done")
def torch_caught():
    kept = fill()
    print("the largest batch is", len(kept))


@kind("failed")
def torch_caught_then_another_error():
    print("the largest batch is", len(fill()))
    raise KeyError("learning_rate")


@kind("failed")
def torch_assert():
    import torch
    torch.zeros(4, device="cuda")[torch.tensor([9], device="cuda")].sum().item()


@kind("failed")
def torch_illegal_access():
    import torch
    from cuda.bindings import runtime
    torch.zeros(4, device="cuda")
    print(runtime.cudaMemset(1 << 20, 0, 1 << 20))
    torch.cuda.synchronize()
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


@kind("failed")
def numpy_host_memory():
    import numpy
    import torch
    torch.zeros(4, device="cuda")
    print(numpy.ones(1 << 48))


@kind("failed")
def torch_host_memory():
    import torch
    torch.zeros(4, device="cuda")
    print(torch.ones(1 << 48))


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        for name, (state, _) in KINDS.items():
            print(name, state)
    else:
        KINDS[sys.argv[1]][1]()
