package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// podsPerNode is how many pods run on a node.
	podsPerNode = 30
	// settling is how long a controller may take before its memory is measured.
	settling = time.Minute
)

// measureMemory measures how much memory a controller holds that was started in a cluster of a size. Of the control plane only
// etcd and the API server run: nothing but the controller changes the objects.
func measureMemory(ctx context.Context, s settings) (err error) {
	server := &envtest.Environment{DownloadBinaryAssets: false}
	if _, err := server.Start(); err != nil {
		return fmt.Errorf("starting the API server; KUBEBUILDER_ASSETS has to name its directory: %w", err)
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	dir, err := os.MkdirTemp("", "karpenter-bench-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p := &plane{kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := os.WriteFile(p.kubeconfig, server.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	if err := p.Create(ctx, pool("")); err != nil {
		return fmt.Errorf("creating the NodePool: %w", err)
	}
	_, _ = fmt.Fprintln(s.out, "Memory of a controller that was started in the cluster, MB")
	_, _ = fmt.Fprintf(s.out, "%-8s %6s %6s %10s %10s\n", "", "nodes", "pods", "resident", "peak")
	before := 0
	for _, n := range s.nodes {
		if err := p.fill(ctx, before, n); err != nil {
			return fmt.Errorf("filling the cluster: %w", err)
		}
		before = n
		for _, x := range s.sides() {
			if err := residents(ctx, s, p, x, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill grows the cluster from one number of nodes to another, with their NodeClaims and pods.
func (p *plane) fill(ctx context.Context, from, to int) error {
	owner, err := p.readPool(ctx)
	if err != nil {
		return err
	}
	err = each(ctx, to-from, func(ctx context.Context, i int) error { return p.createNode(ctx, owner, from+i) })
	if err != nil {
		return err
	}
	return each(ctx, (to-from)*podsPerNode, func(ctx context.Context, i int) error {
		pod := runningPod(nodeName(from+i/podsPerNode), i)
		status := pod.Status
		if err := p.Create(ctx, pod); err != nil {
			return fmt.Errorf("creating a pod: %w", err)
		}
		pod.Status = status
		return p.Status().Update(ctx, pod)
	})
}

// createNode writes an initialized NodeClaim and its Node.
func (p *plane) createNode(ctx context.Context, owner *v1.NodePool, i int) error {
	claim := readyClaim(owner, i)
	status := claim.Status
	if err := p.Create(ctx, claim); err != nil {
		return fmt.Errorf("creating a NodeClaim: %w", err)
	}
	claim.Status = status
	if err := p.Status().Update(ctx, claim); err != nil {
		return fmt.Errorf("writing the status of a NodeClaim: %w", err)
	}
	node := readyNode(claim, i)
	nodeStatus := node.Status
	if err := p.Create(ctx, node); err != nil {
		return fmt.Errorf("creating a Node: %w", err)
	}
	node.Status = nodeStatus
	return p.Status().Update(ctx, node)
}

// residents starts a controller in the existing cluster and measures its memory after it has settled.
func residents(ctx context.Context, s settings, p *plane, x side, nodes int) error {
	label := fmt.Sprintf("memory-%d", nodes)
	running, err := x.start(ctx, s, p, label)
	if err != nil {
		return err
	}
	time.Sleep(settling)
	m, err := running.memory()
	if err == nil {
		err = running.profile(ctx, s, "heap?gc=1", label)
	}
	if err = errors.Join(err, running.stop()); err != nil {
		return err
	}
	if left, err := p.nodes(ctx); err != nil || len(left) != nodes {
		return errors.Join(err, fmt.Errorf("%s has left %d nodes of %d", x.name, len(left), nodes))
	}
	_, _ = fmt.Fprintf(s.out, "%-8s %6d %6d %10.0f %10.0f\n", x.name, nodes, nodes*podsPerNode, m.now, m.peak)
	return nil
}
