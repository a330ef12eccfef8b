package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/karpenter-anew/karpenter/internal/demo"
)

// stay starts cluster and controller and keeps them until ctx ends, with the controller's log on out.
func stay(ctx context.Context, s settings, out io.Writer) error {
	st, err := startStack(ctx, s, demo.PrettyLog{Out: out}, func(step string, took time.Duration) {
		_, _ = fmt.Fprintf(out, "%s (%.1f s)\n", step, took.Seconds())
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, `
Cluster and controller are running. In another terminal:

  export KUBECONFIG=%[1]s
  export PATH=%[2]s:$PATH   # for kubectl, if it is not installed

  kubectl apply -f %[3]s/nodepool.yaml -f %[3]s/inflate.yaml
  kubectl scale deployment inflate --replicas=50
  kubectl get nodepools,nodeclaims,nodes
  kubectl delete node <name>

Metrics: %[4]s   Ctrl-C stops and removes everything.

`, st.cluster.Kubeconfig, kubectlDir(), s.manifests, st.controller.metrics)
	if s.console != "" {
		_, _ = fmt.Fprintf(out, "Console: http://%s/console/\n\n", s.console)
	}
	<-st.ctx.Done()
	var failed error
	if ctx.Err() == nil {
		failed = context.Cause(st.ctx)
	}
	_, _ = fmt.Fprintln(out, "stopping controller and cluster")
	return errors.Join(failed, st.end())
}

// kubectlDir is the directory of the built kubectl; the launcher's environment names it.
func kubectlDir() string {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return assets
	}
	return filepath.Join("$HOME", ".cache", "karpenter-anew")
}
