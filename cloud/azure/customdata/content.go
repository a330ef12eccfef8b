package customdata

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// sysctls are the settings of the kernel that all nodes have.
const sysctls = `net.ipv4.tcp_retries2=8
net.core.message_burst=80
net.core.message_cost=40
net.core.somaxconn=16384
net.ipv4.tcp_max_syn_backlog=16384
net.ipv4.neigh.default.gc_thresh1=4096
net.ipv4.neigh.default.gc_thresh2=8192
net.ipv4.neigh.default.gc_thresh3=16384
`

// Runtimes of containers.
const (
	runtimeRunc   = "runc"
	runtimeNVIDIA = "nvidia-container-runtime"
)

// containerdConfig is the configuration of containerd with a default runtime, in TOML.
func containerdConfig(runtime string) string {
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	var out strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	write("version = 2")
	write("oom_score = 0")
	write("[%s]", cri)
	write("  sandbox_image = %q", pauseImage)
	write("[%s.containerd]", cri)
	write("  default_runtime_name = %q", runtime)
	for _, name := range []string{runtime, "untrusted"} {
		write("[%s.containerd.runtimes.%s]", cri, name)
		write(`  runtime_type = "io.containerd.runc.v2"`)
		write("[%s.containerd.runtimes.%s.options]", cri, name)
		write(`  BinaryName = "/usr/bin/%s"`, runtime)
		write("  SystemdCgroup = true")
	}
	write("[%s.registry]", cri)
	write(`  config_path = "/etc/containerd/certs.d"`)
	write("[%s.registry.headers]", cri)
	write(`  X-Meta-Source-Client = ["azure/aks"]`)
	write("[metrics]")
	write(`  address = "0.0.0.0:10257"`)
	return out.String()
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
