package parallel_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
)

// TestForEach: f is called for every item within the concurrency limit, and errors are in the order of the items.
func TestForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int64
		began := time.Now()
		errs := parallel.ForEach([]int{4, 1, 3, 2, 5}, 2, func(n int) error {
			most.Store(max(most.Load(), busy.Add(1)))
			defer busy.Add(-1)
			time.Sleep(time.Second)
			if n%2 == 0 {
				return fmt.Errorf("even: %d", n)
			}
			return nil
		})
		var got []string
		for _, err := range errs {
			got = append(got, fmt.Sprint(err))
		}
		if want := []string{"even: 4", "<nil>", "<nil>", "even: 2", "<nil>"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if took := time.Since(began); took != 3*time.Second || most.Load() != 2 {
			t.Errorf("took %s with %d at a time, want 3s with 2", took, most.Load())
		}
	})
}
