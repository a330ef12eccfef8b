package operator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/leader"
)

// TestOnlyAFreshLeaseStartsAndEndsInstances follows one lease from before it is held until it is renewed after a pause.
func TestOnlyAFreshLeaseStartsAndEndsInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alive []bool
		f := &fence{}
		p := f.provider(recordingProvider{recordingClient{alive: &alive}})
		changes := map[string]func() error{
			"Create": func() error { _, err := p.Create(t.Context(), &v1.NodeClaim{}); return err },
			"Delete": func() error { return p.Delete(t.Context(), &v1.NodeClaim{}) },
			"Reboot": func() error {
				return f.rebooter(recordingProvider{recordingClient{alive: &alive}}).Reboot(t.Context(), &v1.NodeClaim{}, "")
			},
		}
		questions := map[string]func() error{
			"Get":           func() error { _, err := p.Get(t.Context(), ""); return err },
			"List":          func() error { _, err := p.List(t.Context()); return err },
			"InstanceTypes": func() error { _, err := p.InstanceTypes(t.Context(), nil); return err },
			"IsDrifted":     func() error { _, err := p.IsDrifted(t.Context(), nil); return err },
		}
		check := func(when string, allowed bool) {
			t.Helper()
			for name, call := range changes {
				before := len(alive)
				err := call()
				if (err == nil) != allowed || len(alive) > before != allowed {
					t.Errorf("%s: %s: error %v, want it to reach the cloud: %v", when, name, err, allowed)
				}
				if err != nil && !strings.Contains(err.Error(), "the lease was last renewed") {
					t.Errorf("%s: %s: the refusal does not say why: %v", when, name, err)
				}
			}
			for name, call := range questions {
				if err := call(); err != nil {
					t.Errorf("%s: %s: %v", when, name, err)
				}
			}
		}
		time.Sleep(time.Hour)
		check("without a lease", true)
		f.Renewed(time.Now())
		time.Sleep(leader.HoldLimit)
		check("while the leader still tries", true)
		time.Sleep(time.Nanosecond)
		check("before another replica may take over", false)
		f.Renewed(time.Now())
		check("after a renewal", true)
	})
}
