package nodepool_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/controller/looptest"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
)

func TestRegister(t *testing.T) {
	w := looptest.New(t)
	w.Register(t, nodepool.NewHash(w.Tools), nodepool.NewCounter(w.Tools, usage{}), nodepool.NewReadiness(w.Tools),
		nodepool.NewValidation(w.Tools), nodepool.NewRegistrationHealth(w.Tools))
}
