package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	azurev1beta1 "github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/test/awscluster"
	"github.com/karpenter-anew/karpenter/test/azurecluster"
	"github.com/karpenter-anew/karpenter/test/controlplane"
)

// stack is a running cluster with a running controller.
type stack struct {
	cluster    *controlplane.ControlPlane
	controller *controller
	client     client.Client
	log        io.Writer
	settings   settings
	// aws and azure are the test servers of clouds; nil for other clouds.
	aws   *awscluster.AWS
	azure *azurecluster.Azure
	// ctx ends when the caller's does and when one of the two ends by itself; its cause says which.
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// startStack starts the cluster, installs the CRDs and the NodeClass and starts the controller. said is called after each step with its name and
// duration. On failure nothing is left running. The caller must end the stack.
func startStack(ctx context.Context, s settings, log io.Writer, said func(string, time.Duration)) (*stack, error) {
	for _, program := range []string{s.launcher, s.controller} {
		if _, err := os.Stat(program); err != nil {
			return nil, fmt.Errorf("%w; build it with `make build`", err)
		}
	}
	start := time.Now()
	cluster, err := controlplane.Start(ctx, s.launcher, os.Stderr, clusterFlags(s)...)
	if err != nil {
		return nil, err
	}
	st := &stack{cluster: cluster, log: log, settings: s}
	st.ctx, st.cancel = context.WithCancelCause(ctx)
	go st.endWith(cluster.Done(), func() error { return fmt.Errorf("the cluster ended by itself: %w", cluster.Err()) })
	if err := st.prepare(s); err != nil {
		return nil, errors.Join(err, st.end())
	}
	said("cluster ready", time.Since(start))
	start = time.Now()
	if err := st.control(); err != nil {
		return nil, errors.Join(err, st.end())
	}
	said("controller ready", time.Since(start))
	return st, nil
}

// control starts the controller and returns when it is ready.
func (st *stack) control() error {
	var err error
	if st.controller, err = startController(st.settings, st.cluster.Kubeconfig, st.server(), st.log); err != nil {
		return err
	}
	c := st.controller
	go func() {
		select {
		case <-st.ctx.Done():
		case <-c.Done():
			if !c.killed() {
				st.cancel(fmt.Errorf("the controller ended by itself: %w", c.Err()))
			}
		}
	}()
	if err := c.awaitReady(st.ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(controllerLog(c, 15)))
	}
	return nil
}

// prepare connects to the cluster and puts in what the controller needs.
func (st *stack) prepare(s settings) error {
	var err error
	if st.client, err = demo.NewClient(st.cluster.Kubeconfig, awsv1.AddToScheme, azurev1beta1.AddToScheme); err != nil {
		return err
	}
	all, err := definitions(s)
	if err != nil {
		return err
	}
	if err := demo.InstallCRDs(st.ctx, st.client, all); err != nil {
		return err
	}
	switch s.cloud {
	case cloudAWS:
		st.aws, err = awscluster.Start(st.ctx, st.cluster.Kubeconfig, st.client, awscluster.Options{
			Cluster: awsCluster, Roles: []string{awsRole}, Boot: awsBoot, Shutdown: awsShutdown,
		})
	case cloudAzure:
		st.azure, err = azurecluster.Start(st.ctx, st.cluster.Kubeconfig, st.client, azurecluster.Options{
			Takes: azureTakes, RetryAfter: azureRetryAfter, Boot: azureBoot,
		})
	}
	if err != nil {
		return err
	}
	return demo.Apply(st.ctx, st.client, os.DirFS(s.manifests), "nodeclass.yaml", nil)
}

// server is a test server of a cloud.
type server interface {
	// Flags and Environment are what a controller needs to use it.
	Flags() []string
	Environment() []string
	Stop() error
}

// server is the test server of the cloud; nil if it has none.
func (st *stack) server() server {
	switch {
	case st.aws != nil:
		return st.aws
	case st.azure != nil:
		return st.azure
	default:
		return nil
	}
}

// refusals are why instances have not joined.
func (st *stack) refusals() string {
	switch {
	case st.aws != nil:
		return st.awsRefusals()
	case st.azure != nil:
		return st.azureRefusals()
	default:
		return ""
	}
}

// pricePerHour is the price of the running instances, for clouds that do not label their nodes with it.
func (st *stack) pricePerHour() float64 {
	switch {
	case st.aws != nil:
		return st.awsPrice()
	case st.azure != nil:
		return st.azurePrice()
	default:
		return 0
	}
}

// endWith cancels the stack's context when done is closed, unless the stack itself is stopping.
func (st *stack) endWith(done <-chan struct{}, why func() error) {
	select {
	case <-st.ctx.Done():
	case <-done:
		st.cancel(why())
	}
}

// errEnding is the cause of a requested end.
var errEnding = errors.New("the demo is ending")

// end stops the controller, then the cluster, and returns when both have ended. It does not repeat the failures that caused the end.
func (st *stack) end() error {
	st.cancel(errEnding)
	failedBefore := !errors.Is(context.Cause(st.ctx), errEnding)
	var failed error
	if st.controller != nil {
		failed = st.controller.end()
	}
	if s := st.server(); s != nil {
		failed = errors.Join(failed, s.Stop())
	}
	failed = errors.Join(failed, st.cluster.Stop())
	if failedBefore {
		return nil
	}
	return failed
}

// definitions are those that the controller needs; those of earlier APIs only where it serves them. It has the same
// environment.
func definitions(s settings) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	read := kwokcrds.Definitions
	switch s.cloud {
	case cloudAWS:
		read = awscrds.Definitions
	case cloudAzure:
		read = azurecrds.Definitions
	}
	out, err := read()
	if err != nil || !strings.Contains(os.Getenv("FEATURE_GATES"), "LegacyProvisioner=true") {
		return out, err
	}
	legacy, err := crds.Legacy()
	return append(out, legacy...), err
}
