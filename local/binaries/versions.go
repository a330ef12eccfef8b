// Package binaries builds the programs of a real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubectl) and of the kwok node simulator from pinned Go modules, once per version, into a cache directory.
//
// The directory holds each program under its usual name, so it can be given as KUBEBUILDER_ASSETS to controller-runtime's
// envtest as it is.
package binaries

import (
	"bufio"
	"bytes"
	"fmt"
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

// ParseVersions reads the versions of Kubernetes and etcd from the text of a go.mod file. It fails when one of the two modules
// is not required there.
func ParseVersions(goMod []byte) (Versions, error) {
	v := Versions{Kwok: kwokVersion}
	lines := bufio.NewScanner(bytes.NewReader(goMod))
	for lines.Scan() {
		fields := strings.Fields(strings.TrimPrefix(lines.Text(), "require "))
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		switch fields[0] {
		case kubernetesModule:
			v.Kubernetes = fields[1]
		case etcdModule:
			v.Etcd = fields[1]
		}
	}
	if v.Kubernetes == "" || v.Etcd == "" {
		return Versions{}, fmt.Errorf("reading versions: go.mod must require both %s and %s", kubernetesModule, etcdModule)
	}
	return v, nil
}

// Key names the cache directory of these versions; it holds nothing that is special in a file name.
func (v Versions) Key() string {
	return fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s", v.Kubernetes, v.Etcd, v.Kwok)
}
