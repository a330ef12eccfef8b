package awstest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

// Host is an instance as its operating system sees it, and as the cluster's cloud controller does.
type Host struct {
	Instance
	// ImageName is the name of the image; UserData is not in base64.
	ImageName, UserData string
	// Role is the role of its profile; empty if it has no profile, or a profile without a role.
	Role             string
	Region, ZoneID   string
	Architecture     string
	VCPUs, MemoryMiB int64
	// AddressedPods is how many pods the addresses of its interfaces suffice for, including two with host networking.
	AddressedPods int64
	// StorageGB is the size of its instance store volumes; DiskGiB that of the volume for containers.
	StorageGB, DiskGiB int64
	// Volumes is how many volumes can be attached to it besides the root volume.
	Volumes int64
	// Devices are the resources that device plugins would announce, given the drivers of the image.
	Devices corev1.ResourceList
}

// Hosts are the instances that there are, terminated ones included, in order of age.
func (a *Account) Hosts() []Host {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance()
	limits := a.limits()
	out := make([]Host, 0, len(a.instances))
	for _, i := range a.instances {
		if t := a.typeNamed(i.Type); t != nil {
			out = append(out, a.machine(i, t, limits[i.Type]))
		}
	}
	return out
}

// limits is the table of network limits, read once. The account is locked.
func (a *Account) limits() instancetype.Limits {
	if a.network == nil {
		a.network = instancetype.KnownLimits()
	}
	return a.network
}

func (a *Account) machine(i *Instance, t *typeInfo, limits instancetype.NetworkLimits) Host {
	m := Host{
		Instance: *i, Region: a.region, VCPUs: t.wire.VCPUs, MemoryMiB: t.wire.MemoryMiB, Architecture: "amd64",
		AddressedPods: t.wire.Network.Cards[0].Interfaces*(t.wire.Network.IPv4-1) + 2,
	}
	if slices.Contains(t.wire.Processor.Architectures, "arm64") {
		m.Architecture = "arm64"
	}
	for at := range a.images {
		if a.images[at].ID == i.Image {
			m.ImageName = a.images[at].Name
		}
	}
	if text, err := base64.StdEncoding.DecodeString(i.Data["UserData"]); err == nil {
		m.UserData = string(text)
	}
	if p, err := a.profile(i.Profile); err == nil && len(p.Roles) > 0 {
		m.Role = p.Roles[0]
	}
	if s := a.subnet(i.Subnet); s != nil {
		m.ZoneID = s.ZoneID
	}
	if t.wire.Storage != nil {
		m.StorageGB = t.wire.Storage.TotalGB
	}
	m.DiskGiB = diskOf(m.ImageName, i.Data)
	m.Volumes = attachable(m.Instance, t)
	m.Devices = devices(&m, t, limits)
	return m
}

// Attachment limits: on most Nitro types interfaces, instance store volumes and EBS volumes share one limit; on Xen only volumes count.
// Source: EC2 user guide, volume limits.
const attachedToNitro, attachedToXen = 28, 39

// attachable is how many further volumes can be attached to an instance with one volume.
func attachable(i Instance, t *typeInfo) int64 {
	if t.wire.Hypervisor == "xen" {
		return attachedToXen - 1
	}
	taken := max(len(i.Interfaces), 1) + 1
	if t.wire.Storage != nil {
		taken++
	}
	return int64(attachedToNitro - taken)
}

// diskOf is the size of the volume for containers, which depends on the kind of image.
func diskOf(image string, data map[string]string) int64 {
	device := "/dev/xvda"
	switch {
	case strings.HasPrefix(image, "bottlerocket"):
		device = "/dev/xvdb"
	case strings.HasPrefix(image, "Windows"):
		device = "/dev/sda1"
	}
	const usual = 20
	for n := 1; data[fmt.Sprintf("BlockDeviceMapping.%d.DeviceName", n)] != ""; n++ {
		at := fmt.Sprintf("BlockDeviceMapping.%d.", n)
		size, err := strconv.ParseInt(data[at+"Ebs.VolumeSize"], 10, 64)
		if data[at+"DeviceName"] == device && err == nil {
			return size
		}
	}
	return usual
}

// devices are the resources that device plugins announce. GPUs and ML accelerators need drivers, which only some images have.
func devices(m *Host, t *typeInfo, limits instancetype.NetworkLimits) corev1.ResourceList {
	out := corev1.ResourceList{}
	add := func(name corev1.ResourceName, count int64) {
		if count > 0 {
			have := out[name]
			have.Add(*resource.NewQuantity(count, resource.DecimalSI))
			out[name] = have
		}
	}
	image := strings.ToLower(m.ImageName)
	drivers := strings.Contains(image, "nvidia") || strings.Contains(image, "gpu")
	for _, g := range t.wire.GPUs {
		switch g.Manufacturer {
		case "NVIDIA":
			if drivers {
				add("nvidia.com/gpu", g.Count)
			}
		case "AMD":
			add("amd.com/gpu", g.Count)
		case "Habana":
			add("habana.ai/gaudi", g.Count)
		}
	}
	if strings.Contains(image, "neuron") || strings.Contains(image, "gpu") || strings.HasPrefix(image, "bottlerocket") {
		for _, n := range t.wire.Neurons {
			add("aws.amazon.com/neuron", n.Count)
			add("aws.amazon.com/neuroncore", n.Count*n.Cores)
		}
	}
	for _, face := range m.Interfaces {
		if strings.HasPrefix(face.Kind, "efa") {
			add("vpc.amazonaws.com/efa", 1)
		}
	}
	add("vpc.amazonaws.com/pod-eni", limits.BranchInterfaces)
	return out
}

// wireUp gives an instance its name, its addresses and the tags of its resources. The account is locked.
func (a *Account) wireUp(i *Instance, o order) {
	domain := a.region + ".compute.internal"
	if a.region == "us-east-1" {
		domain = "ec2.internal"
	}
	i.DNS = fmt.Sprintf("ip-%s.%s", strings.ReplaceAll(i.Address, ".", "-"), domain)
	if s := a.subnet(i.Subnet); s != nil {
		i.Public = s.PublicAddresses
		if asksIPv6(i.Data) {
			i.IPv6 = fmt.Sprintf("%s%x", strings.TrimSuffix(s.IPv6, "/64"), a.serial)
		}
		if s.ResourceNames {
			i.DNS = i.ID + "." + domain
		}
	}
	if public := i.Data["NetworkInterface.1.AssociatePublicIpAddress"]; public != "" {
		i.Public = public == "true"
	}
	i.OtherTags = map[string]map[string]string{}
	for kind, tags := range o.others {
		i.OtherTags[kind] = maps.Clone(tags)
	}
	for n := 1; i.Data[fmt.Sprintf("TagSpecification.%d.ResourceType", n)] != ""; n++ {
		at := fmt.Sprintf("TagSpecification.%d.", n)
		tags := map[string]string{}
		for k := 1; i.Data[fmt.Sprintf("%sTag.%d.Key", at, k)] != ""; k++ {
			tags[i.Data[fmt.Sprintf("%sTag.%d.Key", at, k)]] = i.Data[fmt.Sprintf("%sTag.%d.Value", at, k)]
		}
		i.OtherTags[i.Data[at+"ResourceType"]] = tags
	}
}

// asksIPv6 reports whether the primary interface of the instance gets IPv6 addresses.
func asksIPv6(data map[string]string) bool {
	const first = "NetworkInterface.1."
	return data[first+"PrimaryIpv6"] == "true" || cmp.Or(data[first+"Ipv6AddressCount"], data[first+"Ipv6PrefixCount"], "0") != "0"
}

// Price is the hourly price of an instance.
func (a *Account) Price(i *Instance) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.typeNamed(i.Type)
	switch {
	case t == nil:
		return 0
	case i.Spot:
		return t.spot[i.Zone]
	default:
		return t.onDemand
	}
}

// Region is the region of the account.
func (a *Account) Region() string { return a.region }

// Untag removes a tag from a launched resource, as another client may.
func (a *Account) Untag(id, key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tags[id], key)
}
