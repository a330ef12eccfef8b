package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/controlplane"
)

// plane is a running control plane with what both controllers need in it.
type plane struct {
	client.WithWatch
	cluster *controlplane.ControlPlane
	// kubeconfig is the path of the administrator's kubeconfig.
	kubeconfig string

	rest *rest.RESTClient
}

// startPlane starts a control plane with the definitions and the NodeClass.
func startPlane(ctx context.Context, s settings) (*plane, error) {
	cluster, err := controlplane.Start(ctx, s.launcher, nil)
	if err != nil {
		return nil, err
	}
	p := &plane{cluster: cluster, kubeconfig: cluster.Kubeconfig}
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return p, nil
}

func (p *plane) prepare(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, apiextensionsv1.AddToScheme, v1.AddToScheme, kwokv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("building the client: %w", err)
		}
	}
	if p.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("building the client: %w", err)
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme)
	if p.rest, err = rest.UnversionedRESTClientFor(config); err != nil {
		return fmt.Errorf("building the client: %w", err)
	}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return err
	}
	for _, crd := range definitions {
		if err := p.Create(ctx, crd); err != nil {
			return fmt.Errorf("installing CRD %s: %w", crd.Name, err)
		}
	}
	if err := p.createHost(ctx); err != nil {
		return err
	}
	class := &kwokv1alpha1.KWOKNodeClass{}
	class.Name = poolName
	return await(ctx, time.Minute, "the NodeClass to be taken", func() error {
		return client.IgnoreAlreadyExists(p.Create(ctx, class))
	})
}

// await tries until there is no error, or the time is up.
func await(ctx context.Context, limit time.Duration, what string, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s: %w", limit, what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lookInside writes, if profiles are wanted, profiles of the controller and of the API server that begin at a moment, and the metrics of the API
// server from their beginning and their end: what is between these is the requests that it got meanwhile, for one. It costs a tenth of a second.
func (p *plane) lookInside(ctx context.Context, s settings, running *controller, label string, from time.Time) <-chan error {
	done := make(chan error, 1)
	if s.profiles == "" {
		close(done)
		return done
	}
	go func() {
		time.Sleep(time.Until(from))
		var group errgroup.Group
		group.Go(func() error { return running.profile(ctx, s, "profile?seconds="+looking, label) })
		group.Go(func() error {
			return p.keep(ctx, p.rest.Get().AbsPath("/debug/pprof/profile").Param("seconds", looking),
				filepath.Join(s.profiles, "apiserver-"+running.side.name+"-"+label+".prof"))
		})
		for _, moment := range []string{"from", "to"} {
			group.Go(func() error {
				if moment == "to" {
					time.Sleep(lookingTime)
				}
				return p.keep(ctx, p.rest.Get().AbsPath("/metrics"),
					filepath.Join(s.profiles, "apiserver-"+running.side.name+"-"+label+"-"+moment+".txt"))
			})
		}
		done <- group.Wait()
	}()
	return done
}

// looking is for how many seconds profiles are taken, as text for URLs and as a time.
const (
	looking     = "4"
	lookingTime = 4 * time.Second
)

// keep writes an answer of the API server to a file.
func (p *plane) keep(ctx context.Context, request *rest.Request, file string) error {
	text, err := request.DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("asking the API server for %s: %w", filepath.Base(file), err)
	}
	return os.WriteFile(file, text, 0o644)
}
