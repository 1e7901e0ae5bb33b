// Goal: a process that uses a GPU without berth is named by its container, service or session.
//
// Method: /proc/PID/cgroup as runtimes write it, one line of each; names that somebody made up.
#include "daemon/attempts/container.hpp"

#include <gtest/gtest.h>

namespace berth::daemon {
namespace {

const std::string kId = "3f2a1b4c9d0e5f6a7b8c9d0e1f2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c";
const std::string kPod = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

struct Case {
  std::string cgroups;
  std::string text;
  std::optional<uid_t> login = std::nullopt;
};

TEST(Surroundings, OfContainersAreNamedByTheirRuntimes) {
  for (const Case& one : {
           // Docker, with systemd and without, on a machine with cgroup v1, in a parent of its own.
           Case{"0::/system.slice/docker-" + kId + ".scope\n", "docker 3f2a1b4c9d0e"},
           Case{"0::/docker/" + kId + "\n", "docker 3f2a1b4c9d0e"},
           Case{"12:devices:/docker/" + kId + "\n1:name=systemd:/docker/" + kId + "\n0::/\n",
                "docker 3f2a1b4c9d0e"},
           Case{"0::/gpu.slice/docker-" + kId + ".scope\n", "docker 3f2a1b4c9d0e"},
           // Rootless docker and podman are below their user.
           Case{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/docker-" + kId +
                    ".scope\n",
                "docker 3f2a1b4c9d0e", 1000},
           Case{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId +
                    ".scope/container\n",
                "podman 3f2a1b4c9d0e", 1000},
           Case{"0::/machine.slice/libpod-" + kId + ".scope\n", "podman 3f2a1b4c9d0e"},
           Case{"0::/libpod_parent/libpod-" + kId + "\n", "podman 3f2a1b4c9d0e"},
           // Apptainer has a group only where it is asked for limits.
           Case{"0::/user.slice/user-1001.slice/user@1001.service/user.slice/apptainer-4711.scope",
                "apptainer 4711", 1001},
           Case{"8:memory:/apptainer/4711\n", "apptainer 4711"},
           Case{"8:memory:/singularity/4711\n", "singularity 4711"},
           // Kubernetes, by systemd and by cgroupfs.
           Case{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
                "pod0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0.slice/cri-containerd-" +
                    kId + ".scope\n",
                "kubernetes pod 0f1e2d3c-4b5/3f2a1b4c9d0e"},
           Case{"0::/kubepods.slice/kubepods-pod0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0.slice/crio-" +
                    kId + ".scope\n",
                "kubernetes pod 0f1e2d3c-4b5/3f2a1b4c9d0e"},
           Case{"11:memory:/kubepods/besteffort/pod" + kPod + "/" + kId + "\n",
                "kubernetes pod 0f1e2d3c-4b5/3f2a1b4c9d0e"},
           Case{"0::/kubepods/pod" + kPod + "\n", "kubernetes pod 0f1e2d3c-4b5"},
           // Others.
           Case{"0::/system.slice/nerdctl-" + kId + ".scope\n", "containerd 3f2a1b4c9d0e"},
           Case{"0::/default/" + kId + "\n", "container 3f2a1b4c9d0e"},
           Case{"0::/lxc.payload.lab/system.slice/ollama.service\n", "lxc lab"},
           Case{"0::/lxc/lab\n", "lxc lab"},
           Case{"0::/machine.slice/machine-lab.scope/payload\n", "machine lab"},
           // A container in a container: the inner one has the process.
           Case{"0::/lxc.payload.lab/docker/" + kId + "\n", "docker 3f2a1b4c9d0e"},
       }) {
    const Surrounding found = surrounding_of(one.cgroups);
    EXPECT_EQ(text_of(found), one.text) << one.cgroups;
    EXPECT_EQ(found.login, one.login) << one.cgroups;
  }
}

TEST(Surroundings, OutsideOfContainersAreServicesAndSessions) {
  for (const Case& one : {
           Case{"0::/system.slice/ollama.service\n", "ollama.service"},
           Case{"0::/system.slice/system-jupyter.slice/jupyter@ann.service\n",
                "jupyter@ann.service"},
           Case{"0::/user.slice/user-1000.slice/session-3.scope\n", "", 1000},
           Case{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-code.scope\n", "",
                1000},
           Case{"1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n0::/\n", "", 1000},
           Case{"0::/\n", ""},
           Case{"", ""},
       }) {
    const Surrounding found = surrounding_of(one.cgroups);
    EXPECT_EQ(text_of(found), one.text) << one.cgroups;
    EXPECT_EQ(found.login, one.login) << one.cgroups;
  }
}

TEST(Surroundings, NamesThatSomebodyMadeUpAreLeftOut) {
  for (const std::string& cgroups :
       {std::string("0::/docker-1234.scope\n"), "0::/docker/" + kId.substr(1) + "\n",
        "0::/docker-" + std::string(64, 'x') + ".scope\n", std::string("0::/lxc/a\033[2J\n"),
        std::string("0::/apptainer-1; rm.scope\n"), std::string("0::/x y.service\n"),
        std::string("0::/lxc/" + std::string(65, 'a')), std::string("no colon\n:\n::\n"),
        std::string("0::/user-99999999999999.slice/session-1.scope\n"),
        std::string("0::/pod" + kPod + "/x\n"), std::string("0::/libpod-.scope\n"),
        std::string("0::/apptainer-.scope\n"), std::string("0::/lxc.payload.\n")}) {
    EXPECT_EQ(surrounding_of(cgroups), Surrounding{}) << cgroups;
  }
}

}  // namespace
}  // namespace berth::daemon
