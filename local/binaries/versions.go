// Package binaries builds the programs of a real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubectl) and of the kwok node simulator from pinned Go modules, once per version, into a cache directory.
//
// The directory holds each program under its usual name, so it can be given as KUBEBUILDER_ASSETS to controller-runtime's
// envtest as it is.
package binaries

import (
	"fmt"
	"io/fs"
	"strings"
)

// Versions are the versions of the programs, each with its leading "v".
type Versions struct {
	Kubernetes string
	Etcd       string
	Kwok       string
}

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"

	// kwok is built with `go install module@version`, in a separate module graph, so its pin cannot live in go.mod.
	kwokVersion = "v0.8.0"
)

// Modules are the modules that pin the control plane.
type Modules struct {
	// Kubernetes requires k8s.io/kubernetes, Etcd the server of etcd.
	Kubernetes, Etcd Module
}

// Module is the text of a module.
type Module struct {
	GoMod []byte
	GoSum []byte
}

// Select returns the modules for a minor version of Kubernetes, such as 1.34, or for the one that newest pins if it is empty. The modules
// of the others are the files VERSION.mod and VERSION.sum of a folder.
func Select(minor string, newest Module, others fs.FS) (Modules, error) {
	pinned, err := required(newest.GoMod, kubernetesModule)
	if err != nil {
		return Modules{}, err
	}
	if minor == "" || strings.HasPrefix(pinned, "v"+minor+".") {
		return Modules{Kubernetes: newest, Etcd: newest}, nil
	}
	out := Modules{Etcd: newest}
	if out.Kubernetes.GoMod, err = fs.ReadFile(others, minor+".mod"); err != nil {
		known, _ := fs.Glob(others, "*.mod")
		for i := range known {
			known[i] = strings.TrimSuffix(known[i], ".mod")
		}
		return Modules{}, fmt.Errorf("there is no Kubernetes %s here: choose one of %s, or none for %s", minor, strings.Join(known, ", "), pinned)
	}
	out.Kubernetes.GoSum, err = fs.ReadFile(others, minor+".sum")
	return out, err
}

// Versions reads the versions that the modules pin.
func (m Modules) Versions() (Versions, error) {
	v := Versions{Kwok: kwokVersion}
	var err error
	if v.Kubernetes, err = required(m.Kubernetes.GoMod, kubernetesModule); err != nil {
		return Versions{}, err
	}
	if v.Etcd, err = required(m.Etcd.GoMod, etcdModule); err != nil {
		return Versions{}, err
	}
	return v, nil
}

// required is the version of a module that the text of a go.mod file requires. It fails when the module is not required there.
func required(goMod []byte, module string) (string, error) {
	for line := range strings.Lines(string(goMod)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("reading versions: go.mod must require %s", module)
}

// Key names the cache directory of these versions; it holds nothing that is special in a file name.
func (v Versions) Key() string {
	return fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s", v.Kubernetes, v.Etcd, v.Kwok)
}
