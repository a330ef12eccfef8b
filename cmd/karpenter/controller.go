package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/operator"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// controllerCommand runs the controllers until it is told to stop.
type controllerCommand struct {
	options.Options `embed:""`
}

// Help is shown above the flags.
func (*controllerCommand) Help() string {
	return "Every flag can also be given as the environment variable in brackets; the flag wins. " +
		"SIGTERM and SIGINT stop it in order: no new work, up to 30 s for work in hand, then the lease is released. A second signal ends it at once."
}

// Run implements the subcommand.
func (c *controllerCommand) Run(s streams) (err error) {
	adapter, ok := adapters()[c.CloudProvider]
	if !ok {
		return fmt.Errorf("cloud provider %q is not part of this binary", c.CloudProvider)
	}
	out, closeOut, err := operator.LogOutput(c.Log.OutputPaths, s.out, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	problems, closeProblems, err := operator.LogOutput(c.Log.ErrorOutputPaths, s.out, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProblems()) }()

	build := observe.ReadBuild(version)
	log := observe.LogConfig{Level: string(c.Log.Level), Output: out, Errors: problems, Commit: build.Commit}.Logger()
	ctx, stop := untilSignal(context.Background())
	defer stop()
	if err := operator.Run(ctx, c.Options, operator.Process{Adapter: adapter, Build: build, Log: log}); err != nil {
		log.Error("the controller failed", "error", err)
		return err
	}
	return nil
}

// adapters lists the clouds this binary can work with.
func adapters() map[options.CloudProvider]operator.Adapter {
	return map[options.CloudProvider]operator.Adapter{
		options.CloudProviderKWOK: {
			Check: func(o options.Options) error {
				_, err := newKWOK(nil, o, nil) // reads the catalogue; the client is only kept
				return err
			},
			AddToScheme: func(s *runtime.Scheme) error { return v1alpha1.AddToScheme(s) },
			New:         newKWOK,
		},
		options.CloudProviderAWS: {
			AddToScheme: func(s *runtime.Scheme) error { return awsv1.AddToScheme(s) },
			New:         newAWS,
		},
	}
}

func newKWOK(c client.Client, o options.Options, _ *observe.Outlets) (cloud.Cloud, error) {
	return kwok.New(c, kwok.Options{Catalog: o.KWOK.Catalog, InstanceTypesFile: o.KWOK.InstanceTypesFilePath})
}

// newAWS opens the cloud; without a cluster only what is known of any.
func newAWS(c client.Client, o options.Options, outlets *observe.Outlets) (cloud.Cloud, error) {
	if c == nil {
		return aws.Unopened(), nil
	}
	return aws.New(c, aws.Settings{
		ClusterName: o.AWS.ClusterName, ClusterEndpoint: o.AWS.ClusterEndpoint, ClusterCABundle: o.AWS.ClusterCABundle,
		IsolatedVPC: o.AWS.IsolatedVPC, EKSControlPlane: o.AWS.EKSControlPlane, VMMemoryOverheadPercent: o.AWS.VMMemoryOverheadPercent,
		ReservedENIs: int64(o.AWS.ReservedENIs), DryRuns: !o.AWS.DisableDryRun, ImagesFor: o.AWS.AMIRefreshInterval, SubnetsFor: o.AWS.SubnetRefreshInterval,
		ReservesCapacity: o.FeatureGates.ReservedCapacity, StrictMinValues: o.Scheduling.MinValuesPolicy == options.MinValuesStrict, Version: version,
		InterruptionQueue: o.AWS.InterruptionQueue, ZonalShift: o.AWS.EnableZonalShift, Outlets: outlets,
		EvaluatesExpressions: o.AWS.FeatureGates.NodeClassCEL, UsesOverlays: o.FeatureGates.NodeOverlay,
	})
}

// untilSignal returns a context that ends with the first SIGTERM or SIGINT. The second one ends the process.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailed)
	}()
	return ctx, cancel
}
