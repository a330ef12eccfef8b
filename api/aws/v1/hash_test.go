package v1_test

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

const caBundle = "test-ca-bundle"

// baseClass is the class that the golden hashes start from.
func baseClass() *awsv1.EC2NodeClass {
	return &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{
		Role:                     "role-1",
		Tags:                     map[string]string{"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
		Context:                  new("fake-context"),
		DetailedMonitoring:       new(false),
		AssociatePublicIPAddress: new(false),
		MetadataOptions: &awsv1.MetadataOptions{
			HTTPEndpoint: new("disabled"), HTTPProtocolIPv6: new("disabled"), HTTPPutResponseHopLimit: new(int64(1)), HTTPTokens: new("optional"),
		},
		UserData: new("userdata-test-1"),
		BlockDeviceMappings: []*awsv1.BlockDeviceMapping{
			{DeviceName: new("map-device-1"), EBS: &awsv1.BlockDevice{
				DeleteOnTermination: new(false), Encrypted: new(false), IOPS: new(int64(0)), KMSKeyID: new("fakeKMSKeyID"),
				SnapshotID: new("fakeSnapshot"), Throughput: new(int64(0)), VolumeSize: new(resource.MustParse("2G")), VolumeType: new("standard"),
			}},
			{DeviceName: new("map-device-2")},
		},
	}}
}

// maxPods sets the kubelet block to this number of pods.
func maxPods(text string) func(*awsv1.EC2NodeClassSpec) {
	return func(s *awsv1.EC2NodeClassSpec) {
		s.Kubelet = map[string]apiextensionsv1.JSON{"maxPods": {Raw: []byte(text)}}
	}
}

// TestHashGolden pins the hashes that existing clusters have stored. None may change without a new hash version.
func TestHashGolden(t *testing.T) {
	t.Attr("covers", "A072 A073 A074 A075 A076 A077 A080 N324 N325 N326 N534")
	if awsv1.HashVersion != "v6" {
		t.Errorf("the version is %s", awsv1.HashVersion)
	}
	const base = "11148166120438674859"
	for _, test := range []struct {
		name   string
		change func(*awsv1.EC2NodeClassSpec)
		want   string
	}{
		{"base", func(*awsv1.EC2NodeClassSpec) {}, base},
		{"user data", func(s *awsv1.EC2NodeClassSpec) { s.UserData = new("userdata-test-2") }, "11774429238106843388"},
		{"tag", func(s *awsv1.EC2NodeClassSpec) { s.Tags["keyTag-test-3"] = "valueTag-test-3" }, "9327338697296909506"},
		{"context", func(s *awsv1.EC2NodeClassSpec) { s.Context = new("context-2") }, "2279761750428738028"},
		{"monitoring", func(s *awsv1.EC2NodeClassSpec) { s.DetailedMonitoring = new(true) }, "1936848126751988570"},
		{"instance store", func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = new(awsv1.InstanceStorePolicyRAID0) }, "16697988646989909967"},
		{"public address", func(s *awsv1.EC2NodeClassSpec) { s.AssociatePublicIPAddress = new(true) }, "16141801171825097963"},
		{"metadata endpoint", func(s *awsv1.EC2NodeClassSpec) { s.MetadataOptions.HTTPEndpoint = new("enabled") }, "14969742554812447671"},
		{"metadata protocol", func(s *awsv1.EC2NodeClassSpec) { s.MetadataOptions.HTTPProtocolIPv6 = new("enabled") }, "1581716956216772561"},
		{"metadata hop limit", func(s *awsv1.EC2NodeClassSpec) { s.MetadataOptions.HTTPPutResponseHopLimit = new(int64(10)) }, "14046948658064232764"},
		{"metadata tokens", func(s *awsv1.EC2NodeClassSpec) { s.MetadataOptions.HTTPTokens = new("required") }, "1346719102507290084"},
		{"volume size", func(s *awsv1.EC2NodeClassSpec) {
			s.BlockDeviceMappings[0].EBS.VolumeSize = new(resource.MustParse("10G"))
		}, "10372902467896351912"},
		{"from role to instance profile", func(s *awsv1.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "", new("test-instance-profile") }, "10323991363677716244"},
		{"tracking of TCP", func(s *awsv1.EC2NodeClassSpec) {
			s.ConnectionTracking = &awsv1.ConnectionTracking{TCPEstablishedTimeout: new(int32(300))}
		}, "1619669030802245540"},
		{"tracking of UDP streams", func(s *awsv1.EC2NodeClassSpec) {
			s.ConnectionTracking = &awsv1.ConnectionTracking{UDPStreamTimeout: new(int32(120))}
		}, "13743705849402595405"},
		{"tracking of UDP", func(s *awsv1.EC2NodeClassSpec) {
			s.ConnectionTracking = &awsv1.ConnectionTracking{UDPTimeout: new(int32(45))}
		}, "17941926745862994490"},
		{"nested virtualization", func(s *awsv1.EC2NodeClassSpec) {
			s.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")}
		}, "6157846767212910604"},
		{"enclaves", func(s *awsv1.EC2NodeClassSpec) { s.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} }, "7236976372141148292"},
		{"no enclaves", func(s *awsv1.EC2NodeClassSpec) { s.EnclaveOptions = &awsv1.EnclaveOptions{} }, "12655667132181172925"},
		{"name of a disk", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].DeviceName = new("map-device-test-3") }, "8979166653850509463"},
		{"root volume", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].RootVolume = true }, "8875796205856543692"},
		{"deletion of a volume", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].EBS.DeleteOnTermination = new(true) }, "1470935115846151531"},
		{"encryption", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].EBS.Encrypted = new(true) }, "5252376125396833097"},
		{"operations", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].EBS.IOPS = new(int64(10)) }, "11651419893470054855"},
		{"key", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].EBS.KMSKeyID = new("test") }, "1488385067008138755"},
		{"snapshot", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].EBS.SnapshotID = new("test") }, "12786013539168652330"},
		{"throughput", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].EBS.Throughput = new(int64(10)) }, "1873429003468556999"},
		{"type of a volume", func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].EBS.VolumeType = new("io1") }, "6743466905516550702"},
		{"110 pods", maxPods("110"), "5128599174861426106"},
		{"12 pods", maxPods("12"), "2122609974724197883"},
		{"21 pods", maxPods("21"), "2124167982700961437"},
		{"selectors", func(s *awsv1.EC2NodeClassSpec) {
			s.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
			s.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}}
			s.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: "ami-1"}}
			s.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		}, base},
		{"prefixes", func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(3)) }, base},
		{"order of disks", func(s *awsv1.EC2NodeClassSpec) { slices.Reverse(s.BlockDeviceMappings) }, base},
		{"the family that is Custom anyway", func(s *awsv1.EC2NodeClassSpec) { s.AMIFamily = new("Custom") }, base},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := baseClass()
			test.change(&class.Spec)
			if got := class.Hash(caBundle); got != test.want {
				t.Errorf("Hash() = %s, want %s", got, test.want)
			}
		})
	}
}

func TestHashOfFamily(t *testing.T) {
	t.Attr("covers", "A080")
	implied, written, other := baseClass(), baseClass(), baseClass()
	for _, class := range []*awsv1.EC2NodeClass{implied, written, other} {
		class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}
	}
	written.Spec.AMIFamily, other.Spec.AMIFamily = new("Bottlerocket"), new("Custom")
	if implied.Hash(caBundle) != written.Hash(caBundle) {
		t.Error("writing down what the alias implies changed the hash")
	}
	if implied.Hash(caBundle) == other.Hash(caBundle) {
		t.Error("another family did not change the hash")
	}
}

func TestHashOfBundle(t *testing.T) {
	t.Attr("covers", "A079")
	if baseClass().Hash("a") == baseClass().Hash("b") || baseClass().Hash("") == baseClass().Hash("a") {
		t.Error("the CA bundle does not count")
	}
}

func TestHashOfKubelet(t *testing.T) {
	t.Attr("covers", "A078")
	seen := map[string]string{}
	for _, block := range []map[string]apiextensionsv1.JSON{
		nil,
		{"maxPods": {Raw: []byte("110")}},
		{"maxPods": {Raw: []byte("111")}},
		{"podsPerCore": {Raw: []byte("12")}, "maxPods": {Raw: []byte("21")}},
		{"podsPerCore": {Raw: []byte("21")}, "maxPods": {Raw: []byte("12")}},
		{"podsPerCore": {Raw: []byte("1")}, "maxPods": {Raw: []byte("122")}},
	} {
		class := baseClass()
		class.Spec.Kubelet = block
		hash := class.Hash(caBundle)
		if before, ok := seen[hash]; ok {
			t.Errorf("%v hashes like %s", block, before)
		}
		seen[hash] = "another block"
	}
	class := baseClass()
	class.Spec.Kubelet = map[string]apiextensionsv1.JSON{}
	if class.Hash(caBundle) != baseClass().Hash(caBundle) {
		t.Error("an empty block does not hash like none")
	}
}

// TestHashIgnoresOrder checks that tags and disks are hashed as sets.
func TestHashIgnoresOrder(t *testing.T) {
	t.Attr("covers", "A075")
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,5}`), rapid.ID[string]).Draw(t, "names")
		class, shuffled := baseClass(), baseClass()
		for _, name := range names {
			class.Spec.Tags[name] = "v"
			class.Spec.BlockDeviceMappings = append(class.Spec.BlockDeviceMappings, &awsv1.BlockDeviceMapping{DeviceName: &name})
		}
		for _, i := range rapid.Permutation(names).Draw(t, "tags") {
			shuffled.Spec.Tags[i] = "v"
		}
		shuffled.Spec.BlockDeviceMappings = rapid.Permutation(class.Spec.BlockDeviceMappings).Draw(t, "disks")
		if class.Hash(caBundle) != shuffled.Hash(caBundle) {
			t.Error("the order changed the hash")
		}
	})
}
