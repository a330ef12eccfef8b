package source

import (
	"errors"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/restconfig"
)

// Access is how a command connects to the API server of a cluster. The flags are those of kubectl.
type Access struct {
	Kubeconfig string           `name:"kubeconfig" placeholder:"FILE" help:"Kubeconfig file; otherwise $KUBECONFIG, then the in-cluster configuration, then ~/.kube/config."`
	Context    string           `name:"context" placeholder:"NAME" help:"Context of the kubeconfig; otherwise its current context."`
	Cluster    string           `name:"cluster" placeholder:"NAME" help:"Cluster of the kubeconfig; otherwise that of the context."`
	User       string           `name:"user" placeholder:"NAME" help:"User of the kubeconfig; otherwise that of the context."`
	As         string           `name:"as" placeholder:"USER" help:"User to impersonate."`
	AsGroups   command.Repeated `name:"as-group" placeholder:"GROUP" help:"Group to impersonate, with --as. Can be given several times."`
	Timeout    requestTimeout   `name:"request-timeout" placeholder:"DURATION" help:"How long a request to the API server may take, such as 30s; a number alone is in seconds. Otherwise, there is no limit."`
}

// requestTimeout is a duration with a unit, or a number of seconds, as kubectl has it.
type requestTimeout time.Duration

// Decode implements kong.MapperValue.
func (t *requestTimeout) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto(ctx.Value.Name, &text); err != nil {
		return err
	}
	d, err := clientcmd.ParseTimeout(text)
	if err != nil || d < 0 {
		return &options.ValueError{Flag: ctx.Value.Name, Value: text, Reason: "must be a duration such as 30s, or a number of seconds"}
	}
	*t = requestTimeout(d)
	return nil
}

// Check reports flags that contradict each other.
func (a Access) Check() error {
	if len(a.AsGroups) > 0 && a.As == "" {
		return errors.New("--as-group needs --as: groups are impersonated together with a user")
	}
	return nil
}

// Given reports whether a flag chooses a live cluster, or the way to it.
func (a Access) Given() bool {
	return a.Kubeconfig != "" || a.Context != "" || a.Cluster != "" || a.User != "" || a.As != "" || len(a.AsGroups) > 0 || a.Timeout != 0
}

// RESTConfig finds the API server.
func (a Access) RESTConfig() (*rest.Config, error) {
	return restconfig.Load(a.Kubeconfig, a.overrides())
}

// Namespace is that of the context, where no flag names one.
func (a Access) Namespace() (string, error) {
	return restconfig.Namespace(a.Kubeconfig, a.overrides())
}

func (a Access) overrides() clientcmd.ConfigOverrides {
	var overrides clientcmd.ConfigOverrides
	overrides.CurrentContext = a.Context
	overrides.Context.Cluster, overrides.Context.AuthInfo = a.Cluster, a.User
	overrides.AuthInfo.Impersonate, overrides.AuthInfo.ImpersonateGroups = a.As, a.AsGroups
	if a.Timeout != 0 {
		overrides.Timeout = time.Duration(a.Timeout).String()
	}
	return overrides
}
