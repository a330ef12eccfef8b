// Package awscluster adds an AWS test server to a running control plane, so that the built controller can run as on EKS: the account
// contains the cluster, its images match the cluster's release, and launched instances join it. Nothing outside of the host is
// called.
package awscluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/ebs"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/join"
)

// How often and how long the range of services is looked for.
const (
	rangePeriod   = 100 * time.Millisecond
	rangePatience = 10 * time.Second
)

// Options configure the cluster.
type Options struct {
	// Cluster is the cluster's name; empty for "test".
	Cluster string
	// Types are the existing instance types; none for the whole catalog.
	Types []string
	// Roles are further node roles. All have access to the cluster.
	Roles []string
	// Boot is how long an instance takes from its launch until it joins, Shutdown how long it takes to end; 0 for as long as usual.
	Boot, Shutdown time.Duration
	// Volumes runs the driver for EBS volumes in the cluster.
	Volumes bool
}

// AWS is an account beside a cluster, until Stop.
type AWS struct {
	Account *awstest.Account
	Joiner  *join.Joiner
	// URL is where the account is served.
	URL string

	cluster string // and the name of its queue
	server  *http.Server
	cancel  context.CancelFunc
	all     sync.WaitGroup
}

// Start puts an account beside the cluster of a kubeconfig. The client is its administrator's.
func Start(ctx context.Context, kubeconfig string, c client.Client, o Options) (*AWS, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	name := cmp.Or(o.Cluster, "test")
	cluster, err := describe(ctx, config, name)
	if err != nil {
		return nil, err
	}
	if err := serveNames(ctx, c); err != nil {
		return nil, err
	}
	a := &AWS{cluster: name, Account: awstest.New(awstest.Options{Types: o.Types, Cluster: name, Version: cluster.Version, Shutdown: o.Shutdown})}
	a.Account.SetCluster(cluster)
	a.Account.AddQueue(name)
	for _, role := range o.Roles {
		a.Account.AddRole(role)
	}
	a.Joiner = join.New(join.Options{
		Account: a.Account, Client: c, Cluster: name, Roles: append([]string{awstest.Role}, o.Roles...), Boot: o.Boot,
	})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serving AWS: %w", err)
	}
	a.URL = "http://" + listener.Addr().String()
	a.server = &http.Server{Handler: a.Account, ReadHeaderTimeout: time.Minute}
	ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.all.Go(func() { _ = a.server.Serve(listener) }) // ends when it is closed
	a.all.Go(func() { a.Joiner.Run(ctx) })
	if o.Volumes {
		driver := ebs.New(ebs.Options{Account: a.Account, Client: c})
		a.all.Go(func() { driver.Run(ctx) })
	}
	return a, nil
}

// Stop ends the account, and with it what its instances do.
func (a *AWS) Stop() error {
	a.cancel()
	err := a.server.Close()
	a.all.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Environment is what a controller has to find in its environment to use the account.
func (a *AWS) Environment() []string {
	return []string{
		"AWS_REGION=" + a.Account.Region(), "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_ENDPOINT_URL=" + a.URL,
	}
}

// Flags are what a controller has to be started with.
func (a *AWS) Flags() []string {
	return []string{"--cloud-provider=aws", "--cluster-name=" + a.cluster, "--interruption-queue=" + a.cluster}
}

// describe is the cluster in the format of EKS.
func describe(ctx context.Context, config *rest.Config, name string) (awstest.Cluster, error) {
	asking, err := kubernetes.NewForConfig(config)
	if err != nil {
		return awstest.Cluster{}, fmt.Errorf("asking the API server: %w", err)
	}
	version, err := asking.Discovery().ServerVersion()
	if err != nil {
		return awstest.Cluster{}, fmt.Errorf("asking the API server for its version: %w", err)
	}
	out := awstest.Cluster{Name: name, Endpoint: config.Host, Version: version.Major + "." + strings.TrimSuffix(version.Minor, "+")}
	// The API server writes this object itself soon after its start.
	var services *networkingv1.ServiceCIDR
	err = wait.PollUntilContextTimeout(ctx, rangePeriod, rangePatience, true, func(ctx context.Context) (bool, error) {
		services, err = asking.NetworkingV1().ServiceCIDRs().Get(ctx, "kubernetes", metav1.GetOptions{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return awstest.Cluster{}, fmt.Errorf("asking the API server for the range of services: %w", err)
	}
	for _, cidr := range services.Spec.CIDRs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Addr().Is4() {
			out.ServiceIPv4CIDR = cidr
		} else {
			out.ServiceIPv6CIDR = cidr
		}
	}
	return out, nil
}

// serveNames gives the cluster a DNS address, as every cluster on EKS has one. No server answers there.
func serveNames(ctx context.Context, c client.Client) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}}
	service.Spec.Ports = []corev1.ServicePort{{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53}}
	if err := c.Create(ctx, service); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the address for names: %w", err)
	}
	return nil
}
