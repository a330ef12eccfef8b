package termination

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestRegister(t *testing.T) {
	w := fakecluster.New(t)
	queue := NewEvictionQueue(w.Shared)
	w.Register(t, queue, New(w.Shared, queue))
}
