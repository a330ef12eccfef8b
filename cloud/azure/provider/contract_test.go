package provider_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest"
)

func TestContract(t *testing.T) {
	for _, mode := range []settings.ProvisionMode{settings.ModeScriptless, settings.ModeBootstrappingClient, settings.ModeAKSMachine, settings.ModeAKSMachineBatch} {
		t.Run(string(mode), func(t *testing.T) { cloudtest.Run(t, func(t *testing.T) cloudtest.Subject { return subject(t, mode) }) })
	}
}

// subject is a provider in a provision mode.
func subject(t *testing.T, mode settings.ProvisionMode) cloudtest.Subject {
	t.Helper()
	w := newWorldIn(t, mode, func(*settings.Settings) {})
	pool := &v1.NodePool{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: "general"}, pool); err != nil {
		t.Fatal(err)
	}
	n := 0
	return cloudtest.Subject{
		Cloud: w.provider.Cloud(), NodePool: pool,
		NewNodeClaim: func(context.Context) (*v1.NodeClaim, error) {
			n++
			return w.claim(fmt.Sprintf("general-%d", n)), nil
		},
		Launched: func(context.Context, *v1.NodeClaim) error { w.settled(); return nil },
		Pass:     func(context.Context) error { w.settled(); return nil },
	}
}
