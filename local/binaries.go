//go:build binaries

package main

// The programs of the control plane. The build tag is never set: the imports only keep the modules of these programs, and
// everything they need, in go.mod and go.sum.
import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
