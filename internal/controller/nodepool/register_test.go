package nodepool_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
)

func TestRegister(t *testing.T) {
	w := fakecluster.New(t)
	w.Register(t, nodepool.NewHash(w.Shared), nodepool.NewCounter(w.Shared, usage{}), nodepool.NewReadiness(w.Shared),
		validation(w), nodepool.NewRegistrationHealth(w.Shared))
}
