package nodeclaim_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

func TestRegister(t *testing.T) {
	w := fakecluster.New(t)
	w.Register(t,
		nodeclaim.NewLifecycle(w.Shared, &health{}).AwaitDrivers(), nodeclaim.NewDisruption(w.Shared), nodeclaim.NewPodEvents(w.Shared),
		nodeclaim.NewExpiration(w.Shared), nodeclaim.NewGarbage(w.Shared), nodeclaim.NewInstanceGarbage(w.Shared, nodeclaim.NewLifecycle(w.Shared, &health{})),
		nodeclaim.NewConsistency(w.Shared), nodeclaim.NewHydration(w.Shared), nodeclaim.NewNodeHydration(w.Shared),
	)
}
