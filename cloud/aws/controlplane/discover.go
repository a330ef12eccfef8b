package controlplane

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// DiscoverEndpoint sets the endpoint and the CA bundle (base64) of the API server. An empty endpoint is that of EKS.
func (c *Cluster) DiscoverEndpoint(ctx context.Context, region, endpoint, bundle string) error {
	if endpoint == "" {
		cluster, err := c.Describe(ctx)
		if err != nil {
			return fmt.Errorf("finding the endpoint of the cluster: %w", err)
		}
		endpoint = aws.ToString(cluster.Endpoint)
	}
	observe.Log(ctx).DebugContext(ctx, "discovered cluster endpoint", awsfield.Region(region), awsfield.ClusterEndpoint(endpoint))
	c.Change(func(f *Facts) { f.Endpoint, f.CABundle = endpoint, bundle })
	return nil
}

// UseCABundleOf sets the CA bundle for nodes to that of a connection to the API server.
func (c *Cluster) UseCABundleOf(config *rest.Config) error {
	data := config.CAData
	if len(data) == 0 && config.CAFile != "" {
		var err error
		if data, err = os.ReadFile(config.CAFile); err != nil {
			return fmt.Errorf("reading the authority of the API server: %w", err)
		}
	}
	c.Change(func(f *Facts) { f.CABundle = base64.StdEncoding.EncodeToString(data) })
	return nil
}

// DiscoverDNS finds the IP address of the cluster DNS. Without it, nodes use the default of their image.
func (c *Cluster) DiscoverDNS(ctx context.Context, live client.Reader) {
	service := &corev1.Service{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, service); apierrors.IsNotFound(err) {
		observe.Log(ctx).InfoContext(ctx, "the cluster has no Service kube-dns in kube-system; nodes use the DNS address of their image")
		return
	} else if err != nil {
		observe.Log(ctx).ErrorContext(ctx, "the IP address of the cluster DNS is not known", logfield.Error(err))
		return
	}
	observe.Log(ctx).DebugContext(ctx, "discovered kube dns", awsfield.KubeDNSIP(service.Spec.ClusterIP))
	c.Change(func(f *Facts) { f.DNS = service.Spec.ClusterIP })
}

// DiscoverVersion finds the Kubernetes version of the cluster, from EKS if its control plane is one of EKS, else from the API server.
func (c *Cluster) DiscoverVersion(ctx context.Context, fromEKS bool, served discovery.ServerVersionInterface) error {
	var version string
	if fromEKS {
		cluster, err := c.Describe(ctx)
		if err != nil {
			return fmt.Errorf("finding the version of the cluster: %w", err)
		}
		version = aws.ToString(cluster.Version)
	} else {
		info, err := served.ServerVersion()
		if err != nil {
			return fmt.Errorf("asking the API server for its version: %w", err)
		}
		version = info.Major + "." + strings.TrimSuffix(info.Minor, "+")
	}
	if version != c.Facts().Version {
		observe.Log(ctx).DebugContext(ctx, "discovered kubernetes version", logfield.Version(version))
		if !compatible(version) {
			observe.Log(ctx).ErrorContext(ctx, "karpenter is not compatible with kubernetes version", logfield.Version(version))
		}
	}
	c.Change(func(f *Facts) { f.Version = version })
	return nil
}

// The minor versions of Kubernetes that are known to work; the last is the one that tests run against. For others an error is logged, and they are tried.
const firstMinor, lastMinor = 26, 37

// compatible reports whether a version of Kubernetes such as 1.34 is known to work.
func compatible(version string) bool {
	major, minor, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	return major == "1" && err == nil && n >= firstMinor && n <= lastMinor
}
