package leader

import (
	"testing"
	"time"
)

func TestTheLeaseAgesDuringSuspension(t *testing.T) {
	f := &Fence{}
	f.Renewed(time.Now())
	// The monotonic clock stood still during the suspension, the wall clock did not.
	if age := f.age(time.Now().Round(0).Add(time.Minute)); age < 59*time.Second {
		t.Errorf("the lease is %s old after a minute asleep", age)
	}
}
