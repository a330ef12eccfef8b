package operator

import (
	"net"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/restconfig"
)

// Surroundings are how a controller reaches the API server, and is reached.
type Surroundings struct {
	// Config returns the configuration of clients of the API server. The caller may change it.
	Config func() (*rest.Config, error)
	// Listen opens the address of an endpoint; the network is tcp.
	Listen func(network, address string) (net.Listener, error)
	// Shared says that there are further controllers in this process, with the same names and metrics.
	Shared bool
}

// processSurroundings are the surroundings of a controller that is a process.
func processSurroundings(o options.Options) Surroundings {
	return Surroundings{
		Config: func() (*rest.Config, error) { return restconfig.Load(o.Client.Kubeconfig, clientcmd.ConfigOverrides{}) },
		Listen: net.Listen,
	}
}
