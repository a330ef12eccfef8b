package template

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// request is one network interface.
type request = ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest

// interfaces are the network interfaces: those that the class configures, or one for each requested fabric adapter, or
// one. Security groups are set only here.
func (in *Input) interfaces() []request {
	var groups []string
	for _, g := range in.Class.Status.SecurityGroups {
		groups = append(groups, g.ID)
	}
	var out []request
	switch {
	case len(in.Class.Spec.NetworkInterfaces) > 0:
		for _, i := range in.Class.Spec.NetworkInterfaces {
			r := request{
				NetworkCardIndex: aws.Int32(i.NetworkCardIndex), DeviceIndex: aws.Int32(i.DeviceIndex), InterfaceType: aws.String(string(i.InterfaceType)), Groups: groups,
			}
			if i.InterfaceType != awsv1.InterfaceTypeEFAOnly {
				in.address(&r)
			}
			out = append(out, r)
		}
	case in.EFAs > 0:
		for card := range int32(in.EFAs) {
			// Only the first card has the primary interface.
			r := request{NetworkCardIndex: aws.Int32(card), DeviceIndex: aws.Int32(min(card, 1)), InterfaceType: aws.String("efa"), Groups: groups}
			in.address(&r)
			out = append(out, r)
		}
	default:
		r := request{DeviceIndex: aws.Int32(0), Groups: groups}
		in.address(&r)
		out = append(out, r)
	}
	return out
}

// address sets the addresses and the connection tracking of an interface.
func (in *Input) address(r *request) {
	spec := in.Class.Spec
	r.AssociatePublicIpAddress = spec.AssociatePublicIPAddress
	if in.IPv6 {
		r.PrimaryIpv6, r.Ipv6AddressCount, r.Ipv6PrefixCount = aws.Bool(true), aws.Int32(1), spec.IPPrefixCount
	} else {
		r.Ipv4PrefixCount = spec.IPPrefixCount
	}
	if t := spec.ConnectionTracking; t != nil && (t.TCPEstablishedTimeout != nil || t.UDPStreamTimeout != nil || t.UDPTimeout != nil) {
		r.ConnectionTrackingSpecification = &ec2types.ConnectionTrackingSpecificationRequest{
			TcpEstablishedTimeout: t.TCPEstablishedTimeout, UdpStreamTimeout: t.UDPStreamTimeout, UdpTimeout: t.UDPTimeout,
		}
	}
}
