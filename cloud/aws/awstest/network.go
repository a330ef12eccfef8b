package awstest

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
)

// VPC is the ID of the only VPC.
const VPC = "vpc-1"

// Subnet is a subnet.
type Subnet struct {
	ID, Zone, ZoneID string
	// Free is the number of free addresses.
	Free int
	// IPv6 is its IPv6 range, such as 2001:db8:0:1::/64; empty for none.
	IPv6 string
	// ResourceNames names instances after their IDs instead of their addresses; PublicAddresses assigns public addresses
	// unless an instance is launched without.
	ResourceNames, PublicAddresses bool
	Tags                           map[string]string
}

// SecurityGroup is a security group.
type SecurityGroup struct {
	ID, Name string
	Tags     map[string]string
}

// wireTag is a tag in the format of EC2.
type wireTag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func wireTags(tags map[string]string) []wireTag {
	var out []wireTag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, wireTag{key, tags[key]})
	}
	return out
}

// AddSubnet adds a subnet, or replaces the one with its id.
func (a *Account) AddSubnet(s Subnet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.subnets = append(slices.DeleteFunc(a.subnets, func(have *Subnet) bool { return have.ID == s.ID }), &s)
}

// RemoveSubnets removes all subnets.
func (a *Account) RemoveSubnets() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.subnets = nil
}

// AddSecurityGroup adds a security group, or replaces the one with its id.
func (a *Account) AddSecurityGroup(g SecurityGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups = append(slices.DeleteFunc(a.groups, func(have SecurityGroup) bool { return have.ID == g.ID }), g)
}

// RemoveSecurityGroups removes all security groups.
func (a *Account) RemoveSecurityGroups() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups = nil
}

// subnet is a subnet by its id; nil if there is none. The account is locked.
func (a *Account) subnet(id string) *Subnet {
	at := slices.IndexFunc(a.subnets, func(s *Subnet) bool { return s.ID == id })
	if at < 0 {
		return nil
	}
	return a.subnets[at]
}

func describeSubnets(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "subnet-id", "vpc-id", "availability-zone")
	if err != nil {
		return nil, err
	}
	ids := f.list("SubnetId")
	for _, id := range ids {
		if a.subnet(id) == nil {
			return nil, refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	found := keep(a.subnets, func(s *Subnet) bool {
		return (len(ids) == 0 || slices.Contains(ids, s.ID)) && meets(conditions, s.Tags, map[string][]string{
			"subnet-id": {s.ID}, "vpc-id": {VPC}, "availability-zone": {s.Zone},
		})
	})
	found, token, err := page(f, found, 1000, len(ids) > 0)
	type wire struct {
		ID     string    `xml:"subnetId"`
		Zone   string    `xml:"availabilityZone"`
		ZoneID string    `xml:"availabilityZoneId"`
		Free   int       `xml:"availableIpAddressCount"`
		VPC    string    `xml:"vpcId"`
		State  string    `xml:"state"`
		Tags   []wireTag `xml:"tagSet>item"`
	}
	answer := struct {
		Subnets []wire `xml:"subnetSet>item"`
		Token   string `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, s := range found {
		answer.Subnets = append(answer.Subnets, wire{s.ID, s.Zone, s.ZoneID, s.Free, VPC, "available", wireTags(s.Tags)})
	}
	return answer, err
}

func describeSecurityGroups(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "group-id", "group-name", "vpc-id")
	if err != nil {
		return nil, err
	}
	found := keep(a.groups, func(g SecurityGroup) bool {
		return meets(conditions, g.Tags, map[string][]string{"group-id": {g.ID}, "group-name": {g.Name}, "vpc-id": {VPC}})
	})
	found, token, err := page(f, found, 1000, false)
	type wire struct {
		ID   string    `xml:"groupId"`
		Name string    `xml:"groupName"`
		VPC  string    `xml:"vpcId"`
		Tags []wireTag `xml:"tagSet>item"`
	}
	answer := struct {
		Groups []wire `xml:"securityGroupInfo>item"`
		Token  string `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, g := range found {
		answer.Groups = append(answer.Groups, wire{g.ID, g.Name, VPC, wireTags(g.Tags)})
	}
	return answer, err
}

// shortHash is the hash of a text as eight hexadecimal digits.
func shortHash(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return strconv.FormatUint(uint64(h.Sum32())|1<<31, 16)
}
