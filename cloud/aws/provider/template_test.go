package provider_test

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func TestLaunchTemplatesThatAreGone(t *testing.T) {
	t.Attr("covers", "A287")
	w := newWorld(t, "m5.large")
	w.create(w.claim())
	w.account.RemoveLaunchTemplates()
	w.account.Forget()
	w.create(w.claim())
	if fleets, made := len(w.account.Calls("CreateFleet")), len(w.account.Calls("CreateLaunchTemplate")); fleets != 2 || made != 1 {
		t.Errorf("%d fleets, %d templates", fleets, made)
	}
	w.account.Forget()
	w.account.Fail("CreateFleet", "InvalidLaunchTemplateName.NotFoundException", "gone", -1)
	_, err := w.Create(t.Context(), w.claim())
	if e, ok := cloud.AsCreateError(err); !ok || !strings.HasPrefix(e.Message, "Launch templates not found when creating fleet request: ") || len(w.account.Calls("CreateFleet")) != 2 {
		t.Errorf("%v after %d fleets", err, len(w.account.Calls("CreateFleet")))
	}
}

func TestTemplatesAreShared(t *testing.T) {
	t.Attr("covers", "A290 A291")
	w := newWorld(t, "m5.large", "c5.large")
	for _, name := range []string{"m5.large", "c5.large"} { // both have 29 pods
		w.create(w.claim(cloud.In(corev1.LabelInstanceTypeStable, name)))
	}
	if n := len(w.account.LaunchTemplates()); n != 1 {
		t.Errorf("%d templates for claims that differ in type", n)
	}
	names := map[string]bool{w.account.LaunchTemplates()[0].Name: true}
	labelled := w.claim()
	labelled.Labels["team"] = "a"
	w.create(labelled)
	tainted := w.claim()
	tainted.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	w.create(tainted)
	w.create(w.claim(cloud.In(awsv1.LabelInstanceTenancy, "dedicated")))
	w.create(w.claim(cloud.In(v1.CapacityTypeLabelKey, "spot")))
	w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"a": "b"} })
	w.create(w.claim())
	for _, template := range w.account.LaunchTemplates() {
		names[template.Name] = true
		if !strings.HasPrefix(template.Name, "karpenter.k8s.aws/") {
			t.Errorf("name %s", template.Name)
		}
	}
	if len(names) != 6 {
		t.Errorf("%d names for 6 different inputs", len(names))
	}
}

func TestDifferentImagesAreDifferentTemplates(t *testing.T) {
	t.Attr("covers", "A295")
	w := newWorld(t, "m5.large", "m6g.large", "m5.xlarge")
	w.create(w.claim())
	images, pods := map[string]bool{}, map[string]bool{}
	for _, template := range w.account.LaunchTemplates() {
		images[template.Data["ImageId"]] = true
		text, err := base64.StdEncoding.DecodeString(template.Data["UserData"])
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{29, 58} {
			if strings.Contains(string(text), "maxPods: "+strconv.Itoa(n)) {
				pods[strconv.Itoa(n)] = true
			}
		}
	}
	if len(images) != 2 || len(pods) != 2 || len(w.account.LaunchTemplates()) != 3 {
		t.Errorf("images %v, pods %v in %d templates", images, pods, len(w.account.LaunchTemplates()))
	}
}

func TestKubeletConfiguration(t *testing.T) {
	t.Attr("covers", "A297")
	w := newWorld(t, "m5.large")
	claim := w.claim(cloud.In("team", "a"), cloud.In(corev1.LabelTopologyZone, "us-east-1a"))
	claim.Labels["app"] = "b"
	claim.Spec.Taints = []corev1.Taint{{Key: "only", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	w.create(claim)
	raw, err := base64.StdEncoding.DecodeString(w.account.LaunchTemplates()[0].Data["UserData"])
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{"team=a", "app=b", "karpenter.sh/nodepool=pool", "karpenter.sh/capacity-type=on-demand", "only", "karpenter.sh/unregistered", "10.100.0.0/16", "https://cluster"} {
		if !strings.Contains(text, want) {
			t.Errorf("user data lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, corev1.LabelTopologyZone+"=") {
		t.Errorf("a label of Kubernetes is set by the kubelet:\n%s", text)
	}
}

func TestWhatATemplateHolds(t *testing.T) {
	t.Attr("covers", "A292 A293 A300 A304 A305")
	yes, endpoint, twelve := true, "disabled", int32(2)
	size := resource.MustParse("20.5Gi")
	w := newWorld(t, "m5.large")
	data := func(change func(*awsv1.EC2NodeClass), claim *v1.NodeClaim) map[string]string {
		t.Helper()
		w.resolve(change)
		w.create(claim)
		all := w.account.LaunchTemplates()
		return all[len(all)-1].Data
	}
	check := func(name string, got map[string]string, want map[string]string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			for key, value := range want {
				if have, ok := got[key]; have != value || value == "" && ok {
					t.Errorf("%s is %q, want %q", key, have, value)
				}
			}
		})
	}
	plain := data(func(*awsv1.EC2NodeClass) {}, w.claim())
	check("as it is", plain, map[string]string{
		"BlockDeviceMapping.1.DeviceName": "/dev/xvda", "BlockDeviceMapping.1.Ebs.VolumeSize": "20", "BlockDeviceMapping.1.Ebs.Encrypted": "true", "BlockDeviceMapping.1.Ebs.VolumeType": "gp3",
		"Monitoring.Enabled": "false", "MetadataOptions.HttpTokens": "required", "MetadataOptions.HttpEndpoint": "enabled", "MetadataOptions.HttpProtocolIpv6": "disabled",
		"MetadataOptions.InstanceMetadataTags": "disabled", "EnclaveOptions.Enabled": "false", "CpuOptions.NestedVirtualization": "",
		"CapacityReservationSpecification.CapacityReservationPreference": "none", "IamInstanceProfile.Name": profile,
		"NetworkInterface.1.SecurityGroupId.1": "sg-1", "NetworkInterface.1.SecurityGroupId.2": "sg-2", "NetworkInterface.1.AssociatePublicIpAddress": "", "SecurityGroupId.1": "",
	})
	check("as the class says", data(func(c *awsv1.EC2NodeClass) {
		c.Spec.BlockDeviceMappings = []*awsv1.BlockDeviceMapping{{DeviceName: &endpoint, EBS: &awsv1.BlockDevice{VolumeSize: &size}}, {}}
		c.Spec.DetailedMonitoring, c.Spec.AssociatePublicIPAddress, c.Spec.IPPrefixCount = &yes, &yes, &twelve
		c.Spec.MetadataOptions = &awsv1.MetadataOptions{HTTPEndpoint: &endpoint}
	}, w.claim()), map[string]string{
		"BlockDeviceMapping.1.Ebs.VolumeSize": "21", "Monitoring.Enabled": "true", "MetadataOptions.HttpEndpoint": "disabled", "MetadataOptions.HttpTokens": "required",
		"NetworkInterface.1.AssociatePublicIpAddress": "true", "NetworkInterface.1.Ipv4PrefixCount": "2", "NetworkInterface.1.Ipv6PrefixCount": "",
	})
	tracking := int32(300)
	check("connection tracking", data(func(c *awsv1.EC2NodeClass) {
		c.Spec.ConnectionTracking = &awsv1.ConnectionTracking{TCPEstablishedTimeout: &tracking}
	}, w.claim()), map[string]string{"NetworkInterface.1.ConnectionTrackingSpecification.TcpEstablishedTimeout": "300"})
	w.Cluster.Change(func(f *providerFacts) { f.DNS = "fd00::a" })
	check("IPv6", data(func(*awsv1.EC2NodeClass) {}, w.claim()), map[string]string{
		"NetworkInterface.1.PrimaryIpv6": "true", "NetworkInterface.1.Ipv6AddressCount": "1", "NetworkInterface.1.Ipv6PrefixCount": "2", "NetworkInterface.1.Ipv4PrefixCount": "",
	})
	check("tags of what is made", plain, map[string]string{"TagSpecification.1.ResourceType": "network-interface", "TagSpecification.2.ResourceType": ""})
	spot := data(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"mine": "x"} }, w.claim(cloud.In(v1.CapacityTypeLabelKey, "spot")))
	check("spot, and the user's tags", spot, map[string]string{"TagSpecification.2.ResourceType": "spot-instances-request"})
	if !strings.Contains(strings.Join(values(spot), " "), "mine") {
		t.Errorf("the user's tags are missing: %v", spot)
	}
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
