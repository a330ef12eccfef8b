package termination

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/controller/looptest"
)

func TestRegister(t *testing.T) {
	w := looptest.New(t)
	queue := NewEvictionQueue(w.Tools)
	w.Register(t, queue, New(w.Tools, queue))
}
