package nodeclaim_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/controller/looptest"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

func TestRegister(t *testing.T) {
	w := looptest.New(t)
	w.Register(t,
		nodeclaim.NewLifecycle(w.Tools, &health{}).AwaitDrivers(), nodeclaim.NewDisruption(w.Tools), nodeclaim.NewPodEvents(w.Tools),
		nodeclaim.NewExpiration(w.Tools), nodeclaim.NewGarbage(w.Tools), nodeclaim.NewInstanceGarbage(w.Tools, w.Client),
		nodeclaim.NewConsistency(w.Tools), nodeclaim.NewHydration(w.Tools), nodeclaim.NewNodeHydration(w.Tools),
	)
}
