package binaries

import (
	"os/exec"
	"path/filepath"
)

// Names of the programs in the cache directory.
const (
	Etcd              = "etcd"
	KubeAPIServer     = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
	Kwokctl           = "kwokctl"
)

// program is one program to build.
type program struct {
	name    string
	version string
	// pkg is the main package. A program with a separate module graph ("installed") is built by `go install pkg@version`, which
	// works only for modules without replace directives; the others are built inside the module of this repository.
	pkg       string
	installed bool
	// minutes is how long a build takes on two cores when the ones before it are done and nothing else is compiled.
	minutes float64
}

// programs lists everything in build order. The API server comes early: it compiles most of what the others share.
func programs(v Versions) []program {
	return []program{
		{name: Etcd, version: v.Etcd, pkg: etcdModule, minutes: 1},
		{name: KubeAPIServer, version: v.Kubernetes, pkg: kubernetesModule + "/cmd/kube-apiserver", minutes: 7.5},
		{name: ControllerManager, version: v.Kubernetes, pkg: kubernetesModule + "/cmd/kube-controller-manager", minutes: 2},
		{name: Scheduler, version: v.Kubernetes, pkg: kubernetesModule + "/cmd/kube-scheduler", minutes: 0.5},
		{name: Kubectl, version: v.Kubernetes, pkg: kubernetesModule + "/cmd/kubectl", minutes: 1},
		{name: Kwok, version: v.Kwok, pkg: "sigs.k8s.io/kwok/cmd/kwok", installed: true, minutes: 1},
		{name: Kwokctl, version: v.Kwok, pkg: "sigs.k8s.io/kwok/cmd/kwokctl", installed: true, minutes: 0.3},
	}
}

// command is the go command that builds p; work holds a folder for each module, outDir receives the program.
func (p program) command(kubernetes, work, outDir string) *exec.Cmd {
	// Without a stamped version the servers call themselves v0.0.0-master+$Format and clients fail to parse that.
	ldflags := "-s -w -X k8s.io/component-base/version.gitVersion=" + kubernetes
	if p.installed {
		cmd := exec.Command("go", "install", "-trimpath", "-ldflags=-s -w", p.pkg+"@"+p.version)
		cmd.Env = append(cmd.Environ(), "GOBIN="+outDir)
		cmd.Dir = outDir
		return cmd
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags="+ldflags, "-o", outDir+"/"+p.name, p.pkg)
	cmd.Dir = filepath.Join(work, kubernetesModule)
	if p.pkg == etcdModule {
		cmd.Dir = filepath.Join(work, etcdModule)
	}
	cmd.Env = cmd.Environ()
	return cmd
}
