package provider_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// told are the recorded events.
type told struct {
	record.EventRecorder
	lines []string
}

// Event implements record.EventRecorder.
func (s *told) Event(object runtime.Object, kind, reason, message string) {
	name := ""
	if o, ok := object.(metav1.Object); ok {
		name = o.GetName()
	}
	s.lines = append(s.lines, strings.Join([]string{name, kind, reason, message}, "|"))
}

// listen records the events for users.
func (w *world) listen() *told {
	s := &told{}
	w.UseRecorder(observe.NewRecorder(s, w.clock))
	return s
}

func TestAClassThatIsNotThere(t *testing.T) {
	t.Attr("covers", "A175")
	for name, test := range map[string]struct {
		remove func(*world)
		says   string
	}{
		"missing": {func(w *world) {
			if err := w.Client.Delete(w.t.Context(), w.class); err != nil {
				w.t.Fatal(err)
			}
		}, `ec2nodeclasses.karpenter.k8s.aws "default" not found`},
		"being deleted": {func(w *world) {
			w.resolve(func(c *awsv1.EC2NodeClass) { c.Finalizers = []string{awsv1.TerminationFinalizer} })
			if err := w.Client.Delete(w.t.Context(), w.class); err != nil {
				w.t.Fatal(err)
			}
		}, `ec2nodeclasses.karpenter.k8s.aws "default" is terminating, treating as not found`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m5.large")
			test.remove(w)
			events := w.listen()
			if _, err := w.Create(t.Context(), w.claim()); !cloud.IsInsufficientCapacity(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
			if types, err := w.InstanceTypes(t.Context(), w.pool); err != nil || len(types) != 0 {
				t.Errorf("%d types, %v", len(types), err)
			}
			want := []string{"claim-1|Warning||Failed resolving NodeClass", "pool|Warning||Failed resolving NodeClass"}
			if diff := cmp.Diff(want, events.lines); diff != "" || len(w.account.Instances()) != 0 {
				t.Errorf("%d instances, events (-want +got)\n%s", len(w.account.Instances()), diff)
			}
		})
	}
}

func TestFailuresAreCounted(t *testing.T) {
	t.Attr("covers", "A285")
	w := newWorld(t, "m5.large", "c5.large")
	count := func(zone, zoneID, capacityType, reason string) float64 {
		return testutil.ToFloat64(w.Metrics.LaunchFailures.WithLabelValues(zone, zoneID, capacityType, reason))
	}
	w.account.RunOut(awstest.Pool{InstanceType: "c5.large"}) // cheaper than m5.large
	w.account.Refuse(awstest.Pool{InstanceType: "m5.large", Zone: "us-east-1a"}, awstest.Refusal{Code: "VcpuLimitExceeded", Message: "no"})
	w.create(w.claim(cloud.In(v1.CapacityTypeLabelKey, "on-demand")))
	for i, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1d"} {
		id := "use1-az" + string(rune('1'+i))
		if got := count(zone, id, "on-demand", "LaunchFailed"); got != 1 {
			t.Errorf("%g failures for want of capacity in %s (%s)", got, zone, id)
		}
	}
	if got := count("us-east-1a", "use1-az1", "on-demand", "VCPULimitExceeded"); got != 1 {
		t.Errorf("%g failures for a quota", got)
	}
	if n := testutil.CollectAndCount(w.Metrics.LaunchFailures); n != 4 {
		t.Errorf("%d kinds of failures", n)
	}
	w.resolve(func(*awsv1.EC2NodeClass) {})
	for i := range w.class.Status.Subnets {
		w.class.Status.Subnets[i].ZoneID = ""
	}
	w.saveStatus()
	w.account.Refuse(awstest.Pool{CapacityType: "spot"}, awstest.Refusal{Code: "MaxSpotInstanceCountExceeded", Message: "no"})
	if _, err := w.Create(t.Context(), w.claim(cloud.In(v1.CapacityTypeLabelKey, "spot"), cloud.In(corev1.LabelTopologyZone, "us-east-1b"), cloud.In(corev1.LabelInstanceTypeStable, "m5.large"))); err == nil {
		t.Error("launched")
	}
	if got := count("us-east-1b", "", "spot", "SpotQuotaExceeded"); got != 1 {
		t.Errorf("%g failures in a zone without id", got)
	}
}

// TestFailuresOfALaunchThatIsSharedCountOnce lets two claims share a fleet.
func TestFailuresOfALaunchThatIsSharedCountOnce(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.account.RunOut(awstest.Pool{Zone: "us-east-1a"})
	w.create(w.claim()) // the launch template is there, and the zone is left alone
	w.account.Forget()
	before := testutil.ToFloat64(w.Metrics.LaunchFailures.WithLabelValues("us-east-1b", "use1-az2", "on-demand", "LaunchFailed"))
	w.account.RunOut(awstest.Pool{Zone: "us-east-1b"})
	done := make(chan error)
	for range 2 {
		claim := w.claim(cloud.In(corev1.LabelTopologyZone, "us-east-1b"))
		go func() {
			_, err := w.Create(t.Context(), claim)
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; !cloud.IsInsufficientCapacity(err) {
			t.Error(err)
		}
	}
	fleets := len(w.account.Calls("CreateFleet"))
	if got := testutil.ToFloat64(w.Metrics.LaunchFailures.WithLabelValues("us-east-1b", "use1-az2", "on-demand", "LaunchFailed")) - before; got != float64(fleets) {
		t.Errorf("%g failures of %d fleets", got, fleets)
	}
}

func TestTheSizeOfUserData(t *testing.T) {
	t.Attr("covers", "A310")
	w := newWorld(t, "m5.large", "m5.xlarge")
	size := func() float64 {
		return testutil.ToFloat64(w.Metrics.UserDataBytes.WithLabelValues("default"))
	}
	if n := testutil.CollectAndCount(w.Metrics.UserDataBytes); n != 0 {
		t.Errorf("%d sizes before a launch", n)
	}
	w.create(w.claim())
	small := size()
	if small < 500 || small > userDataWarned {
		t.Errorf("%g bytes", small)
	}
	custom := "#!/bin/bash\n" + strings.Repeat("x", 10_000)
	w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.UserData = &custom })
	w.create(w.claim())
	if got := size() - small; got < 10_000 || got > 10_000*1.1 {
		t.Errorf("%g bytes more for 10,000 bytes of the user's", got)
	}
	w.Requests.ForgetClass("default")
	if n := testutil.CollectAndCount(w.Metrics.UserDataBytes); n != 0 {
		t.Errorf("%d sizes without a class", n)
	}
}

// TestIgnoredSettingsAreLogged: a user of Bottlerocket who misspells a setting is told so, once until it is another one.
func TestIgnoredSettingsAreLogged(t *testing.T) {
	t.Attr("covers", "A317")
	w := newWorld(t, "m5.large")
	var out bytes.Buffer
	ctx := log.IntoContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&out, nil)))
	told := func(custom string) string {
		t.Helper()
		w.resolve(func(c *awsv1.EC2NodeClass) {
			c.Generation++
			c.Spec.AMISelectorTerms, c.Spec.UserData = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}, &custom
		})
		out.Reset()
		if _, err := w.Create(ctx, w.claim()); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "are ignored") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	const known = "[settings.kubernetes]\nmax-pods = 5\n"
	if got := told(known + "max-podz = 5\nallowed = 1\n"); strings.Count(got, "level=ERROR") != 1 || !strings.Contains(got, "settings=\"[allowed max-podz]\"") || !strings.Contains(got, "EC2NodeClass.name=default") {
		t.Errorf("logged %q", got)
	}
	if got := told(known + "max-podz = 5\nallowed = 1\n"); got != "" {
		t.Errorf("logged again %q", got)
	}
	if got := told(known + "max-podz = 5\n"); !strings.Contains(got, "settings=[max-podz]") {
		t.Errorf("logged %q of another setting", got)
	}
	if got := told(known); got != "" {
		t.Errorf("logged %q of nothing", got)
	}
}

// userDataWarned is where users are warned.
const userDataWarned = 14745

// TestHowRequestsGather adds up the sizes of batches: they are the requests.
func TestHowRequestsGather(t *testing.T) {
	w := newWorld(t, "m5.large")
	first := w.create(w.claim())
	w.create(w.claim())
	if _, err := w.Get(t.Context(), first.Status.ProviderID); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	for batcher, want := range map[string]float64{"create_fleet": 2, "describe_instances": 2, "terminate_instances": 1} {
		var sizes, times dto.Metric
		if err := w.Metrics.BatchSize.WithLabelValues(batcher).(prometheus.Histogram).Write(&sizes); err != nil {
			t.Fatal(err)
		}
		if err := w.Metrics.BatchTime.WithLabelValues(batcher).(prometheus.Histogram).Write(&times); err != nil {
			t.Fatal(err)
		}
		if got := sizes.Histogram.GetSampleSum(); got != want || times.Histogram.GetSampleCount() != sizes.Histogram.GetSampleCount() || times.Histogram.GetSampleSum() <= 0 {
			t.Errorf("%s: %g requests, want %g, in %d batches that took %g s", batcher, got, want, sizes.Histogram.GetSampleCount(), times.Histogram.GetSampleSum())
		}
	}
}
