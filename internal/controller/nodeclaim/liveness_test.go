package nodeclaim_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func TestLiveness(t *testing.T) {
	t.Attr("covers", "C067 C068 C069 C070 C071 C075 C076 W019")
	for name, c := range map[string]struct {
		launched, registered bool
		timeout              time.Duration
		age                  time.Duration
		gone                 string
	}{
		"before the launch timeout":         {age: 5*time.Minute - time.Second},
		"a launch times out":                {age: 5 * time.Minute, gone: "launch_timeout"},
		"both limits are broken":            {age: time.Hour, gone: "launch_timeout"},
		"a provider takes longer":           {timeout: time.Hour, age: 14 * time.Minute},
		"a provider is quicker":             {timeout: time.Minute, age: time.Minute, gone: "launch_timeout"},
		"before the registration timeout":   {launched: true, age: 15*time.Minute - time.Second},
		"a registration times out":          {launched: true, age: 15 * time.Minute, gone: "registration_timeout"},
		"a registered claim lives for ever": {launched: true, registered: true, age: 1000 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			w.Cloud.LaunchTimeout = c.timeout
			w.Provider.CreateErr = errors.New("cloud is down")
			claim := w.Claim("a")
			if c.launched {
				claim = w.LaunchedClaim("a")
			}
			if c.registered {
				condition.For(claim, w.Time.Now()).True(v1.ConditionTypeRegistered)
			}
			w.Add(claim)
			w.Time.Step(c.age)
			h := &health{}
			l := nodeclaim.NewLifecycle(w.Shared, h)
			_, err := w.Try(l, claim)
			_, _ = w.Try(l, claim)
			if got, there := fakecluster.Get(w, claim); (!there || got.DeletionTimestamp != nil) != (c.gone != "") {
				t.Fatalf("there: %v, deleted: %v, error %v", there, got.DeletionTimestamp, err)
			}
			want := 0.0
			if c.gone != "" {
				want = 1
			}
			if total, one := w.Count("karpenter_nodeclaims_disrupted_total"), w.Count("karpenter_nodeclaims_disrupted_total", "reason="+c.gone); total != want || c.gone != "" && one != 1 {
				t.Errorf("counted %v in all, %v as %q", total, one, c.gone)
			}
			if failures := slices.Compact(h.failed); len(failures) != int(want) || len(h.failed) != int(want) {
				t.Errorf("recorded %v", h.failed)
			}
		})
	}
	t.Run("the limit of a launch runs from the transition, not from the creation", func(t *testing.T) {
		t.Attr("covers", "C072")
		w := fakecluster.New(t)
		w.Provider.CreateErr = errors.New("cloud is down")
		claim := w.Claim("a")
		claim.CreationTimestamp = metav1.NewTime(w.Time.Now().Add(-time.Hour))
		set := condition.For(claim, w.Time.Now())
		for _, name := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered} {
			set.False(name, "X", "") // as another client may have set it
			set.Unknown(name, "X", "")
		}
		w.Add(claim)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Time.Step(5*time.Minute - time.Second)
		_, _ = w.Try(l, claim)
		if fakecluster.Must(w, claim).DeletionTimestamp != nil {
			t.Error("it was deleted too early")
		}
		w.Time.Step(time.Second)
		_, _ = w.Try(l, claim)
		if got, there := fakecluster.Get(w, claim); there && got.DeletionTimestamp == nil {
			t.Error("it was not deleted")
		}
	})
	t.Run("limits run from the transition, not from the creation", func(t *testing.T) {
		t.Attr("covers", "C073")
		w := fakecluster.New(t)
		claim := w.Claim("a")
		claim.CreationTimestamp = metav1.NewTime(w.Time.Now().Add(-time.Hour))
		set := condition.For(claim, w.Time.Now())
		set.True(v1.ConditionTypeLaunched)
		set.False(v1.ConditionTypeRegistered, "MultipleNodesFound", "")
		claim.Status.ProviderID = "test://a"
		w.Add(claim)
		result := w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		// The False turns into Unknown, which is one more transition.
		if result.RequeueAfter != 15*time.Minute {
			t.Errorf("result %+v", result)
		}
	})
	t.Run("a failure that cannot be recorded keeps the claim", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		w.Add(claim)
		w.Time.Step(time.Hour)
		h := &health{err: fakecluster.Conflict()}
		l := nodeclaim.NewLifecycle(w.Shared, h)
		if result := w.Run(l, claim); result != requeue.Soon() || fakecluster.Must(w, claim).DeletionTimestamp != nil {
			t.Errorf("result %+v", result)
		}
		h.err = nil
		w.Run(l, claim)
		if fakecluster.Must(w, claim).DeletionTimestamp == nil || len(h.failed) != 1 {
			t.Errorf("recorded %v", h.failed)
		}
	})
}
