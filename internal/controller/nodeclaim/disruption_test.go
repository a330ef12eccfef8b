package nodeclaim_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// offering is one offering of the type "small".
func offering(zone, capacityType string, available bool, more ...v1.NodeSelectorRequirementWithMinValues) cloud.Offering {
	return cloud.Offering{Available: available, Requirements: append(more, cloud.In(corev1.LabelTopologyZone, zone), cloud.In(v1.CapacityTypeLabelKey, capacityType))}
}

func small(offerings ...cloud.Offering) []*cloud.InstanceType {
	return []*cloud.InstanceType{{Name: "other", Offerings: []cloud.Offering{offering("zone-1", "spot", true)}}, {Name: "small", Offerings: offerings}}
}

func hashes(obj client.Object, hash, version string) {
	annotations := map[string]string{}
	if hash != "" {
		annotations[v1.NodePoolHashAnnotationKey] = hash
	}
	if version != "" {
		annotations[v1.NodePoolHashVersionAnnotationKey] = version
	}
	obj.SetAnnotations(annotations)
}

func require(key string, op corev1.NodeSelectorOperator, values ...string) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: op, Values: values})
	}
}

func TestDrift(t *testing.T) {
	t.Attr("covers", "C115 C117 C118 C119 C120 C121 C122 C124 C125 C129 C130 C131 C132 C135 C136 C137 C138")
	const zone = corev1.LabelTopologyZone
	old := 2 * time.Hour
	reserved := func(c *v1.NodeClaim) {
		c.Labels[v1.CapacityTypeLabelKey], c.Labels["reservation"] = "reserved", "r-1"
	}
	for name, c := range map[string]struct {
		pool  func(*v1.NodePool)
		claim func(*v1.NodeClaim)
		types []*cloud.InstanceType
		age   time.Duration
		drift cloud.DriftReason
		want  string
	}{
		"nothing drifts":                    {},
		"the provider says so":              {drift: "AMIDrift", want: "AMIDrift"},
		"the hash outranks the provider":    {drift: "AMIDrift", pool: func(p *v1.NodePool) { hashes(p, "2", "v3") }, want: "NodePoolDrifted"},
		"requirements outrank the provider": {drift: "AMIDrift", pool: require(zone, "In", "zone-2"), want: "RequirementsDrifted"},
		"no hash on the claim":              {pool: func(p *v1.NodePool) { hashes(p, "2", "v3") }, claim: func(c *v1.NodeClaim) { hashes(c, "", "v3") }},
		"no hash on the pool":               {pool: func(p *v1.NodePool) { hashes(p, "", "v3") }},
		"versions differ":                   {pool: func(p *v1.NodePool) { hashes(p, "2", "v4") }},
		"no version":                        {pool: func(p *v1.NodePool) { hashes(p, "2", "") }},
		"a wider list":                      {pool: require(zone, "In", "zone-1", "zone-2")},
		"a narrower list":                   {pool: require(zone, "In", "zone-2", "zone-3"), want: "RequirementsDrifted"},
		"a new required key":                {pool: require("team", "In", "x"), want: "RequirementsDrifted"},
		"Exists on a label that exists":     {pool: require(zone, "Exists")},
		"DoesNotExist on one that exists":   {pool: require(zone, "DoesNotExist"), want: "RequirementsDrifted"},
		"a new excluded key":                {pool: require("team", "NotIn", "x")},
		"bounds that hold":                  {claim: func(c *v1.NodeClaim) { c.Labels["gen"] = "5" }, pool: func(p *v1.NodePool) { require("gen", "Gt", "4")(p); require("gen", "Lt", "6")(p) }},
		"bounds that do not":                {claim: func(c *v1.NodeClaim) { c.Labels["gen"] = "5" }, pool: require("gen", "Gt", "5"), want: "RequirementsDrifted"},
		"young claims are not checked":      {types: small(), age: time.Hour - time.Second},
		"no instance type label":            {types: small(offering("zone-1", "spot", true)), claim: func(c *v1.NodeClaim) { delete(c.Labels, corev1.LabelInstanceTypeStable) }, age: old, want: "InstanceTypeNotFound"},
		"the type is gone":                  {types: small()[:1], age: old, want: "InstanceTypeNotFound"},
		"the type has no offering":          {types: small(), age: old, want: "InstanceTypeNotFound"},
		"offerings elsewhere":               {types: small(offering("zone-2", "spot", true), offering("zone-1", "on-demand", true)), age: old, want: "InstanceTypeNotFound"},
		"an unavailable offering":           {types: small(offering("zone-1", "spot", false)), age: old},
		"reserved, still reserved":          {claim: reserved, types: small(offering("zone-1", "reserved", true, cloud.In("reservation", "r-2"))), age: old},
		"reserved, now on-demand":           {claim: reserved, types: small(offering("zone-1", "on-demand", true, cloud.DoesNotExist("reservation"))), age: old},
		"reserved, only spot is left":       {claim: reserved, types: small(offering("zone-1", "spot", true, cloud.DoesNotExist("reservation"))), age: old, want: "InstanceTypeNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			w.Cloud.ReservationIDLabel = "reservation"
			pool, claim := fakecluster.Pool(), w.LaunchedClaim("a")
			hashes(pool, "1", "v3")
			hashes(claim, "1", "v3")
			if c.pool != nil {
				c.pool(pool)
			}
			if c.claim != nil {
				c.claim(claim)
			}
			w.Provider.Types, w.Provider.Drift = c.types, c.drift
			w.Add(pool, claim)
			w.Time.Step(c.age)
			result := w.Run(nodeclaim.NewDisruption(w.Shared), claim)
			want := ""
			if c.want != "" {
				want = "True/" + c.want + "/" + c.want
			}
			if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Drifted"); got != want {
				t.Errorf("Drifted %q, want %q", got, want)
			}
			if result.RequeueAfter != 5*time.Minute {
				t.Errorf("looks again after %v", result.RequeueAfter)
			}
		})
	}
}

func TestDriftOverTime(t *testing.T) {
	start := func(t *testing.T, change func(*fakecluster.Cluster, *v1.NodeClaim)) (*fakecluster.Cluster, *v1.NodeClaim, *nodeclaim.Disruption) {
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		if change != nil {
			change(w, claim)
		}
		w.Add(fakecluster.Pool(), claim)
		return w, claim, nodeclaim.NewDisruption(w.Shared)
	}
	drifted := func(w *fakecluster.Cluster, claim *v1.NodeClaim) *metav1.Condition {
		return condition.For(fakecluster.Must(w, claim), w.Time.Now()).Get(v1.ConditionTypeDrifted)
	}
	t.Run("drift keeps its time and ends", func(t *testing.T) {
		t.Attr("covers", "C128 C139")
		w, claim, d := start(t, nil)
		w.Provider.Drift = "AMIDrift"
		w.Run(d, claim)
		first := drifted(w, claim)
		w.Time.Step(10 * time.Minute)
		w.Run(d, claim)
		if again := drifted(w, claim); !again.LastTransitionTime.Equal(&first.LastTransitionTime) {
			t.Errorf("moved from %v to %v", first.LastTransitionTime, again.LastTransitionTime)
		}
		w.Provider.Drift = ""
		w.Time.Step(10 * time.Minute)
		w.Run(d, claim)
		if got := drifted(w, claim); got != nil {
			t.Errorf("still %+v", got)
		}
	})
	t.Run("pod events do not become calls to the cloud; changes of the class do", func(t *testing.T) {
		t.Attr("covers", "W012")
		w, claim, d := start(t, nil)
		class := fakecluster.Class()
		w.Add(class)
		for range 3 {
			w.Time.Step(20 * time.Second)
			fakecluster.Change(w, claim, func(c *v1.NodeClaim) { c.Status.LastPodEventTime = metav1.NewTime(w.Time.Now()) })
			w.Run(d, claim)
		}
		if n := w.Provider.Calls("IsDrifted"); n != 1 {
			t.Errorf("asked %d times", n)
		}
		w.Provider.Drift = "ClassDrift"
		fakecluster.Change(w, class, func(c *kwok.KWOKNodeClass) { c.Labels = map[string]string{"changed": "yes"} })
		w.Run(d, claim)
		if got := drifted(w, claim); got == nil || got.Reason != "ClassDrift" {
			t.Errorf("Drifted %+v", got)
		}
	})
	t.Run("a good instance type check holds for half an hour, a bad one for nothing", func(t *testing.T) {
		t.Attr("covers", "C123")
		w, claim, d := start(t, nil)
		w.Time.Step(2 * time.Hour)
		w.Run(d, claim)
		w.Run(d, claim)
		if n := w.Provider.Calls("InstanceTypes"); n != 2 {
			t.Errorf("after failures: asked %d times, want 2", n)
		}
		w.Provider.Types = small(offering("zone-1", "spot", true))
		w.Run(d, claim)
		w.Time.Step(30*time.Minute - time.Second)
		w.Run(d, claim)
		if n := w.Provider.Calls("InstanceTypes"); n != 3 {
			t.Errorf("after a success: asked %d times, want 3", n)
		}
		w.Time.Step(time.Second)
		w.Run(d, claim)
		if n := w.Provider.Calls("InstanceTypes"); n != 4 {
			t.Errorf("after half an hour: asked %d times, want 4", n)
		}
	})
	t.Run("an unlaunched claim cannot drift", func(t *testing.T) {
		t.Attr("covers", "C126")
		w, claim, d := start(t, func(w *fakecluster.Cluster, c *v1.NodeClaim) {
			set := condition.For(c, w.Time.Now())
			set.Unknown(v1.ConditionTypeLaunched, "X", "")
			set.True(v1.ConditionTypeDrifted)
		})
		if result := w.Run(d, claim); drifted(w, claim) != nil || result.RequeueAfter != 0 {
			t.Errorf("result %+v, Drifted %+v", result, drifted(w, claim))
		}
	})
	t.Run("provider errors", func(t *testing.T) {
		w, claim, d := start(t, nil)
		w.Provider.DriftErr = errors.New("throttled")
		if _, err := w.Try(d, claim); !errors.Is(err, w.Provider.DriftErr) {
			t.Errorf("error %v", err)
		}
		w.Provider.DriftErr = cloud.NewNodeClaimNotFoundError(errors.New("gone"))
		w.Run(d, claim)
	})
	t.Run("a conflict is retried quietly", func(t *testing.T) {
		w, claim, d := start(t, nil)
		w.Provider.Drift = "AMIDrift"
		w.Fail = fakecluster.Always("patch-status", claim, fakecluster.Conflict())
		if result := w.Run(d, claim); result != requeue.Soon() {
			t.Errorf("result %+v", result)
		}
	})
}

// TestDisruptionWritesNothingBeforeTheLaunch: a NodeClaim is launched right after its creation, and a write for conditions that are only
// missing would make the writes of the launch conflict.
func TestDisruptionWritesNothingBeforeTheLaunch(t *testing.T) {
	w := fakecluster.New(t)
	claim := w.Claim("a")
	w.Add(fakecluster.Pool(), claim)
	before := fakecluster.Must(w, claim).ResourceVersion
	w.Run(nodeclaim.NewDisruption(w.Shared), claim)
	if after := fakecluster.Must(w, claim).ResourceVersion; after != before {
		t.Errorf("version %s became %s", before, after)
	}
}

func TestDisruptionLeavesAlone(t *testing.T) {
	t.Attr("covers", "C105 C116 C127")
	for name, c := range map[string]struct {
		claim func(*v1.NodeClaim)
		pool  bool
	}{
		"unmanaged claims":            {func(c *v1.NodeClaim) { c.Spec.NodeClassRef = fakecluster.Unmanaged() }, true},
		"claims without a pool":       {func(*v1.NodeClaim) {}, false},
		"claims without a pool label": {func(c *v1.NodeClaim) { delete(c.Labels, v1.NodePoolLabelKey) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim := w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized)
			c.claim(claim)
			w.Add(claim)
			if c.pool {
				w.Add(fakecluster.Pool())
			}
			w.Provider.Drift = "AMIDrift"
			before := fakecluster.Must(w, claim).ResourceVersion
			w.Run(nodeclaim.NewDisruption(w.Shared), claim)
			if fakecluster.Must(w, claim).ResourceVersion != before {
				t.Error("it was written")
			}
		})
	}
}

// TestConditionsComeAndGoTogether counts the writes.
func TestConditionsComeAndGoTogether(t *testing.T) {
	t.Attr("covers", "C114")
	w := fakecluster.New(t)
	pool, claim := fakecluster.Pool(), w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized)
	w.Add(pool, claim)
	writes := 0
	w.Fail = func(op string, _ runtime.Object) error {
		if op == "patch-status" {
			writes++
		}
		return nil
	}
	d := nodeclaim.NewDisruption(w.Shared)
	for n, there := range []bool{true, false} {
		w.Provider.Drift = map[bool]cloud.DriftReason{true: "AMIDrift"}[there]
		if !there {
			fakecluster.Change(w, pool, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter.Duration = nil })
		}
		w.Time.Step(10 * time.Minute)
		writes = 0
		w.Run(d, claim)
		conditions := fakecluster.Must(w, claim).Status.Conditions
		for _, name := range []string{"Drifted", "Consolidatable"} {
			if got := fakecluster.Condition(conditions, name) != ""; got != there {
				t.Errorf("pass %d: %s is there: %v, want %v", n, name, got, there)
			}
		}
		if writes != 1 {
			t.Errorf("pass %d: %d writes, want one", n, writes)
		}
	}
}

// TestOnlyWhatIsAgainstThePoolDrifts: a pool with three claims gets a new requirement that two of them already satisfy.
func TestOnlyWhatIsAgainstThePoolDrifts(t *testing.T) {
	t.Attr("covers", "C133")
	w := fakecluster.New(t)
	pool := fakecluster.Pool()
	require(corev1.LabelTopologyZone, "In", "zone-1", "zone-2")(pool)
	w.Add(pool)
	want := map[string]bool{"a": false, "b": true, "c": false}
	zones := map[string]string{"a": "zone-1", "b": "zone-3", "c": "zone-2"}
	d := nodeclaim.NewDisruption(w.Shared)
	for name, zone := range zones {
		claim := w.LaunchedClaim(name)
		claim.Labels[corev1.LabelTopologyZone] = zone
		w.Add(claim)
		w.Run(d, claim)
		if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Drifted") != ""; got != want[name] {
			t.Errorf("%s in %s drifted: %v, want %v", name, zone, got, want[name])
		}
	}
}

func TestConsolidatable(t *testing.T) {
	t.Attr("covers", "C106 C107 C108 C109 C110 C111 C112 C113")
	minute, zero := time.Minute, time.Duration(0)
	three := int64(3)
	for name, c := range map[string]struct {
		after       *time.Duration
		replicas    *int64
		initialized bool
		podEvent    time.Duration // before now; zero means never
		age         time.Duration // since initialization
		want        bool
		wait        time.Duration
	}{
		"a minute after initialization":       {after: &minute, initialized: true, age: time.Minute, want: true},
		"before that":                         {after: &minute, initialized: true, age: 20 * time.Second, wait: 40 * time.Second},
		"a minute after the last pod event":   {after: &minute, initialized: true, age: time.Hour, podEvent: time.Minute, want: true},
		"soon after a pod event":              {after: &minute, initialized: true, age: time.Hour, podEvent: time.Second, wait: 59 * time.Second},
		"never":                               {initialized: true, age: time.Hour},
		"not initialized":                     {after: &zero, age: time.Hour},
		"at once":                             {after: &zero, initialized: true, podEvent: time.Nanosecond, want: true},
		"static pools are never consolidated": {after: &zero, replicas: &three, initialized: true, age: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			pool, claim := fakecluster.Pool(), w.LaunchedClaim("a", v1.ConditionTypeRegistered)
			pool.Spec.Disruption.ConsolidateAfter.Duration, pool.Spec.Replicas = c.after, c.replicas
			set := condition.For(claim, w.Time.Now())
			if c.initialized {
				set.True(v1.ConditionTypeInitialized)
			}
			if c.replicas == nil {
				set.True(v1.ConditionTypeConsolidatable)
			}
			set.True(v1.ConditionTypeDrifted)
			w.Time.Step(c.age)
			if c.podEvent > 0 {
				claim.Status.LastPodEventTime = metav1.NewTime(w.Time.Now().Add(-c.podEvent))
			}
			w.Provider.Types = small(offering("zone-1", "spot", true))
			w.Add(pool, claim)
			result := w.Run(nodeclaim.NewDisruption(w.Shared), claim)
			conditions := fakecluster.Must(w, claim).Status.Conditions
			if got := fakecluster.Condition(conditions, "Consolidatable") != ""; got != c.want {
				t.Errorf("Consolidatable: %v, want %v", got, c.want)
			}
			if fakecluster.Condition(conditions, "Drifted") != "" {
				t.Error("Drifted was not removed in the same write")
			}
			wait := 5 * time.Minute
			if c.wait != 0 {
				wait = c.wait
			}
			if result.RequeueAfter != wait {
				t.Errorf("looks again after %v, want %v", result.RequeueAfter, wait)
			}
		})
	}
}
