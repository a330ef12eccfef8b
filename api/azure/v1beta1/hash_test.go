package v1beta1_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// baseClass is the class that the golden hashes start from.
func baseClass() *v1beta1.AKSNodeClass {
	return &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{
		VNETSubnetID: new("subnet-id"),
		OSDiskSizeGB: new(int32(30)),
		ImageFamily:  new("Ubuntu2204"),
		Kubelet: &v1beta1.KubeletConfiguration{
			CPUManagerPolicy:            "static",
			CPUCFSQuota:                 new(true),
			CPUCFSQuotaPeriod:           metav1.Duration{Duration: 100 * time.Millisecond},
			ImageGCHighThresholdPercent: new(int32(85)),
			ImageGCLowThresholdPercent:  new(int32(80)),
			TopologyManagerPolicy:       "none",
			AllowedUnsafeSysctls:        []string{"net.core.somaxconn"},
			ContainerLogMaxSize:         "10Mi",
			ContainerLogMaxFiles:        new(int32(10)),
		},
		MaxPods: new(int32(100)),
	}}
}

// TestHashGolden pins the hashes that existing clusters have stored. None may change without a new hash version.
func TestHashGolden(t *testing.T) {
	t.Attr("covers", "Z018")
	if v1beta1.HashVersion != "v3" {
		t.Errorf("the version is %s", v1beta1.HashVersion)
	}
	const base = "4108492229247269128"
	vnet := func(change func(*v1beta1.LocalDNSZoneOverride)) func(*v1beta1.AKSNodeClassSpec) {
		return func(s *v1beta1.AKSNodeClassSpec) {
			zone := v1beta1.LocalDNSZoneOverride{Zone: "example.com"}
			change(&zone)
			s.LocalDNS = &v1beta1.LocalDNS{VnetDNSOverrides: []v1beta1.LocalDNSZoneOverride{zone}}
		}
	}
	for _, test := range []struct {
		name   string
		change func(*v1beta1.AKSNodeClassSpec)
		want   string
	}{
		{"base", func(*v1beta1.AKSNodeClassSpec) {}, base},
		{"subnet", func(s *v1beta1.AKSNodeClassSpec) { s.VNETSubnetID = new("subnet-id-2") }, "13971920214979852468"},
		{"size of the disk", func(s *v1beta1.AKSNodeClassSpec) { s.OSDiskSizeGB = new(int32(40)) }, "7816855636861645563"},
		{"image family", func(s *v1beta1.AKSNodeClassSpec) { s.ImageFamily = new("AzureLinux") }, "15616969746300892810"},
		{"kubelet", func(s *v1beta1.AKSNodeClassSpec) { s.Kubelet.CPUManagerPolicy = "none" }, "33638514539106194"},
		{"pods", func(s *v1beta1.AKSNodeClassSpec) { s.MaxPods = new(int32(200)) }, "15508761509963240710"},
		{"mode of LocalDNS", func(s *v1beta1.AKSNodeClassSpec) {
			s.LocalDNS = &v1beta1.LocalDNS{Mode: v1beta1.LocalDNSModeRequired}
		}, "17805442572569734619"},
		{"artifact streaming", func(s *v1beta1.AKSNodeClassSpec) {
			s.ArtifactStreaming = &v1beta1.ArtifactStreaming{Enabled: new(true)}
		}, "15355387647114481444"},
		{"logging of queries", vnet(func(z *v1beta1.LocalDNSZoneOverride) { z.QueryLogging = "Log" }), "14608914734386108436"},
		{"protocol of a zone of the cluster", func(s *v1beta1.AKSNodeClassSpec) {
			s.LocalDNS = &v1beta1.LocalDNS{KubeDNSOverrides: []v1beta1.LocalDNSZoneOverride{{Zone: "example.com", Protocol: "ForceTCP"}}}
		}, "4529827108104295737"},
		{"duration of the cache", vnet(func(z *v1beta1.LocalDNSZoneOverride) {
			z.CacheDuration = v1.NewNillableDuration(time.Hour)
		}), "11008649797056761238"},
		{"duration of stale answers", vnet(func(z *v1beta1.LocalDNSZoneOverride) {
			z.ServeStaleDuration = v1.NewNillableDuration(30 * time.Minute)
		}), "4895720480850206885"},
		{"tags", func(s *v1beta1.AKSNodeClassSpec) { s.Tags = map[string]string{"team": "a"} }, base},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := baseClass()
			test.change(&class.Spec)
			if got := class.Hash(); got != test.want {
				t.Errorf("Hash() = %s, want %s", got, test.want)
			}
		})
	}
}

// TestHashOfDecodedDurations checks that the text of a duration does not count, only its length.
func TestHashOfDecodedDurations(t *testing.T) {
	for text, want := range map[string]string{"1h": "11008649797056761238", "60m": "11008649797056761238"} {
		class := baseClass()
		class.Spec.LocalDNS = &v1beta1.LocalDNS{}
		if err := json.Unmarshal([]byte(`{"vnetDNSOverrides":[{"zone":"example.com","cacheDuration":"`+text+`"}]}`), class.Spec.LocalDNS); err != nil {
			t.Fatal(err)
		}
		if got := class.Hash(); got != want {
			t.Errorf("%s: Hash() = %s, want %s", text, got, want)
		}
	}
}

// TestHashOfEveryField sets every field of the spec in turn, to a value that is not its zero value, and looks whether the hash changes.
func TestHashOfEveryField(t *testing.T) {
	t.Attr("covers", "Z019")
	seen := map[string]string{(&v1beta1.AKSNodeClass{}).Hash(): "the empty spec"}
	fields := 0
	var walk func(path string, target reflect.Type, set func(reflect.Value) *v1beta1.AKSNodeClass)
	walk = func(path string, target reflect.Type, set func(reflect.Value) *v1beta1.AKSNodeClass) {
		if target.Kind() == reflect.Pointer && target.Elem().Kind() == reflect.Struct {
			walk(path, target.Elem(), func(v reflect.Value) *v1beta1.AKSNodeClass {
				p := reflect.New(target.Elem())
				p.Elem().Set(v)
				return set(p)
			})
			return
		}
		if target.Kind() == reflect.Struct && target.PkgPath() == reflect.TypeFor[v1beta1.AKSNodeClass]().PkgPath() {
			for i := range target.NumField() {
				field := target.Field(i)
				if field.Name == "Tags" {
					continue
				}
				walk(path+"."+field.Name, field.Type, func(v reflect.Value) *v1beta1.AKSNodeClass {
					s := reflect.New(target).Elem()
					s.Field(i).Set(v)
					return set(s)
				})
			}
			return
		}
		if target.Kind() == reflect.Slice && target.Elem().Kind() == reflect.Struct {
			walk(path+"[]", target.Elem(), func(v reflect.Value) *v1beta1.AKSNodeClass {
				return set(reflect.Append(reflect.MakeSlice(target, 0, 1), v))
			})
			return
		}
		fields++
		hash := set(sample(t, path, target)).Hash()
		if other, ok := seen[hash]; ok {
			t.Errorf("%s hashes like %s", path, other)
		}
		seen[hash] = path
	}
	walk("spec", reflect.TypeFor[v1beta1.AKSNodeClassSpec](), func(v reflect.Value) *v1beta1.AKSNodeClass {
		return &v1beta1.AKSNodeClass{Spec: v.Interface().(v1beta1.AKSNodeClassSpec)}
	})
	if want := 71; fields != want {
		t.Errorf("the spec has %d fields, want %d", fields, want)
	}
}

// sample is a value of a type that is not its zero value.
func sample(t *testing.T, path string, target reflect.Type) reflect.Value {
	t.Helper()
	switch target {
	case reflect.TypeFor[metav1.Duration]():
		return reflect.ValueOf(metav1.Duration{Duration: time.Second})
	case reflect.TypeFor[v1.NillableDuration]():
		return reflect.ValueOf(v1.NewNillableDuration(time.Second))
	}
	switch v := reflect.New(target).Elem(); target.Kind() {
	case reflect.String:
		v.SetString("x")
		return v
	case reflect.Slice:
		return reflect.Append(v, sample(t, path, target.Elem()))
	case reflect.Pointer:
		// What a pointer points to counts even if it is a zero value: absent and zero differ.
		v.Set(reflect.New(target.Elem()))
		return v
	default:
		t.Fatalf("%s is a %s, of which the test has no sample", path, target)
		return v
	}
}

// TestHashOfLists checks that lists are hashed as sets, and that an empty one is not an absent one.
func TestHashOfLists(t *testing.T) {
	t.Attr("covers", "Z018")
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,5}`), 1, -1, rapid.ID[string]).Draw(t, "names")
		class, shuffled := baseClass(), baseClass()
		class.Spec.Kubelet.AllowedUnsafeSysctls = names
		shuffled.Spec.Kubelet.AllowedUnsafeSysctls = rapid.Permutation(names).Draw(t, "shuffled")
		if class.Hash() != shuffled.Hash() {
			t.Error("the order changed the hash")
		}
	})
	absent, empty := baseClass(), baseClass()
	absent.Spec.Kubelet.AllowedUnsafeSysctls, empty.Spec.Kubelet.AllowedUnsafeSysctls = nil, []string{}
	if absent.Hash() == empty.Hash() {
		t.Error("an empty list hashes like an absent one")
	}
}
