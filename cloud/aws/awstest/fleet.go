package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// override is one launch override of a fleet.
type override struct {
	template             *LaunchTemplate
	instanceType, subnet string
	zone, image          string
	priority             float64
}

// wireOverride is an override as the response repeats it.
type wireOverride struct {
	TemplateID   string  `xml:"launchTemplateSpecification>launchTemplateId"`
	TemplateName string  `xml:"launchTemplateSpecification>launchTemplateName"`
	Version      string  `xml:"launchTemplateSpecification>version"`
	Type         string  `xml:"overrides>instanceType"`
	Subnet       string  `xml:"overrides>subnetId,omitempty"`
	Zone         string  `xml:"overrides>availabilityZone"`
	Image        string  `xml:"overrides>imageId,omitempty"`
	Priority     float64 `xml:"overrides>priority"`
}

func (o override) wire() wireOverride {
	return wireOverride{o.template.ID, o.template.Name, "$Latest", o.instanceType, o.subnet, o.zone, o.image, o.priority}
}

// fleetAnswer is the response of CreateFleet.
type fleetAnswer struct {
	ID        string          `xml:"fleetId"`
	Instances []fleetInstance `xml:"fleetInstanceSet>item"`
	Errors    []fleetError    `xml:"errorSet>item"`
}

type fleetInstance struct {
	IDs       []string     `xml:"instanceIds>item"`
	Type      string       `xml:"instanceType"`
	Lifecycle string       `xml:"lifecycle"`
	Way       wireOverride `xml:"launchTemplateAndOverrides"`
}

type fleetError struct {
	Code      string       `xml:"errorCode"`
	Message   string       `xml:"errorMessage"`
	Lifecycle string       `xml:"lifecycle"`
	Way       wireOverride `xml:"launchTemplateAndOverrides"`
}

// createFleet launches instances synchronously, as fleets of type instant do. Each pool without capacity that it tried is an error in
// the response; if all pools fail, nothing is launched.
func createFleet(a *Account, f *form) (any, error) {
	if kind := f.text("Type"); kind != "instant" {
		return nil, refuse("InvalidParameterValue", "fleets of type %q are not served here", kind)
	}
	token := f.text("ClientToken")
	if answer, ok := a.fleets[token]; ok && token != "" {
		return answer, nil
	}
	f.text("Context")
	tags := f.tagSpecifications("TagSpecification")
	for kind := range tags {
		if !slices.Contains([]string{"fleet", "instance", "volume"}, kind) {
			return nil, refuse("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", kind)
		}
	}
	ways, err := readOverrides(a, f)
	if err != nil {
		return nil, err
	}
	count, _, err := f.number("TargetCapacitySpecification.TotalTargetCapacity")
	if err != nil {
		return nil, err
	}
	order, err := readOrder(f)
	if err != nil {
		return nil, err
	}
	order.tags, order.others = tags["instance"], tags
	if err := f.check(); err != nil {
		return nil, err
	}
	order.fleet = a.id("fleet")
	answer := a.fill(order, ways, count)
	if token != "" {
		a.fleets[token] = answer
	}
	return answer, nil
}

// order is the request for a fleet.
type order struct {
	fleet, capacityType string
	byPriority          bool
	tags                map[string]string
	// others are the tags of all kinds of resources.
	others map[string]map[string]string
}

// readOrder reads the purchase options.
func readOrder(f *form) (order, error) {
	var o order
	o.capacityType = f.text("TargetCapacitySpecification.DefaultTargetCapacityType")
	if !slices.Contains([]string{"on-demand", "spot", "capacity-block", "reserved-capacity"}, o.capacityType) {
		return o, refuse("InvalidParameterValue", "target capacity type %q is invalid", o.capacityType)
	}
	f.list("ReservedCapacityOptions.ReservationType")
	for key, known := range map[string][]string{
		"SpotOptions.AllocationStrategy":     {"", "price-capacity-optimized", "capacity-optimized", "capacity-optimized-prioritized", "lowest-price", "diversified"},
		"OnDemandOptions.AllocationStrategy": {"", "lowest-price", "prioritized"},
	} {
		strategy := f.text(key)
		if !slices.Contains(known, strategy) {
			return o, refuse("InvalidParameterValue", "Value (%s) for parameter %s is invalid.", strategy, key)
		}
		o.byPriority = o.byPriority || strategy == "prioritized" || strategy == "capacity-optimized-prioritized"
	}
	return o, nil
}

// readOverrides reads the overrides of a fleet, and rejects invalid ones.
func readOverrides(a *Account, f *form) ([]override, error) {
	var out []override
	for _, config := range f.items("LaunchTemplateConfigs") {
		specification := config + ".LaunchTemplateSpecification"
		name, id := f.text(specification+".LaunchTemplateName"), f.text(specification+".LaunchTemplateId")
		f.text(specification + ".Version")
		template := a.template(name, id)
		if template == nil {
			return nil, missingTemplate(name, id)
		}
		for _, item := range f.items(config + ".Overrides") {
			o := override{
				template: template, instanceType: f.text(item + ".InstanceType"), subnet: f.text(item + ".SubnetId"),
				zone: f.text(item + ".AvailabilityZone"), image: f.text(item + ".ImageId"),
			}
			if text := f.text(item + ".Priority"); text != "" {
				priority, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return nil, refuse("InvalidParameterValue", "Value (%s) for parameter Priority is invalid.", text)
				}
				o.priority = priority
			}
			if err := a.judge(&o); err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		return nil, refuse("MissingParameter", "The request must contain overrides with instance types")
	}
	if n := len(f.items("LaunchTemplateConfigs")); n > 50 {
		return nil, refuse("InvalidParameterValue", "A fleet may have at most 50 launch template configurations, got %d", n)
	}
	if len(out) > 300 {
		return nil, refuse("InvalidParameterValue", "A fleet may have at most 300 overrides, got %d", len(out))
	}
	return out, nil
}

// judge rejects an override that names a missing resource, and fills in the zone. The account is locked.
func (a *Account) judge(o *override) error {
	if a.typeNamed(o.instanceType) == nil {
		return refuse("InvalidInstanceType", "The instance type %s does not exist", o.instanceType)
	}
	if o.subnet != "" {
		s := a.subnet(o.subnet)
		if s == nil {
			return refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", o.subnet)
		}
		if o.zone != "" && o.zone != s.Zone {
			return refuse("InvalidParameterValue", "subnet %s is not in zone %s", o.subnet, o.zone)
		}
		o.zone = s.Zone
	}
	if image := or(o.image, o.template.Data["ImageId"]); !slices.ContainsFunc(a.images, func(i Image) bool { return i.ID == image }) {
		return refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", image)
	}
	return nil
}

// fill launches up to this many instances, each in the best pool that has capacity. The account is locked.
func (a *Account) fill(o order, ways []override, count int) fleetAnswer {
	ways = slices.Clone(ways)
	price := func(w override) float64 {
		t := a.typeNamed(w.instanceType)
		switch {
		case o.byPriority:
			return w.priority
		case o.capacityType == "spot":
			if spot, sold := t.spot[w.zone]; sold {
				return spot
			}
			return math.Inf(1)
		default:
			return t.onDemand
		}
	}
	slices.SortStableFunc(ways, func(x, y override) int { return cmp.Compare(price(x), price(y)) })
	answer := fleetAnswer{ID: o.fleet}
	lifecycle := "on-demand"
	if o.capacityType == "spot" {
		lifecycle = "spot"
	}
	failed := map[int]bool{}
	for range count {
		at := slices.IndexFunc(ways, func(w override) bool {
			index := slices.Index(ways, w)
			if failed[index] {
				return false
			}
			why := a.wants(w, o.capacityType)
			if why == nil {
				return true
			}
			failed[index] = true
			answer.Errors = append(answer.Errors, fleetError{why.Code, why.Message, lifecycle, w.wire()})
			return false
		})
		if at < 0 {
			break
		}
		i := a.launch(o, ways[at])
		if from := (Pool{i.Type, i.Zone, o.capacityType}); a.trouble.remaining[from] > 0 {
			a.trouble.remaining[from]--
		}
		answer.Instances = append(answer.Instances, fleetInstance{[]string{i.ID}, i.Type, lifecycle, ways[at].wire()})
	}
	return answer
}

// wants is the error with which an override cannot launch; nil if it can. The account is locked.
func (a *Account) wants(w override, capacityType string) *Refusal {
	if why := a.storm.finds(); why != nil {
		return why
	}
	if why := a.refusal(Pool{w.instanceType, w.zone, capacityType}); why != nil {
		return why
	}
	if !slices.Contains(a.typeNamed(w.instanceType).zones, w.zone) {
		return &Refusal{"Unsupported", fmt.Sprintf("Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", w.instanceType, w.zone)}
	}
	if err := a.profileExists(w.template.Data["IamInstanceProfile.Name"]); err != nil {
		refusal := asRefusal(err)
		return &Refusal{refusal.code, refusal.message}
	}
	if s := a.subnet(w.subnet); s != nil && s.Free <= 0 {
		return &Refusal{"InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '" + s.ID + "' to satisfy the requested number of instances."}
	}
	if s := a.subnet(w.subnet); s != nil && s.IPv6 == "" && asksIPv6(w.template.Data) {
		return &Refusal{"InvalidParameterValue", "The subnet ID '" + s.ID + "' does not have an IPv6 CIDR block"}
	}
	if id := reservationOf(w.template); id != "" {
		if r := a.reservation(id); r == nil || r.Left <= 0 {
			return &Refusal{"ReservationCapacityExceeded", "Requested instance is larger than available capacity in reservation " + id}
		}
	}
	return nil
}

// reservationOf is the reservation that a template targets; empty for none.
func reservationOf(t *LaunchTemplate) string {
	return t.Data["CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"]
}

// launch creates an instance. The account is locked.
func (a *Account) launch(o order, w override) *Instance {
	d := w.template.Data
	i := &Instance{
		ID: a.id("i"), Type: w.instanceType, Zone: w.zone, Subnet: w.subnet, Image: or(w.image, d["ImageId"]), State: "pending",
		Spot: o.capacityType == "spot", Launched: a.clock.Now(), Template: w.template.Name, Fleet: o.fleet,
		Tenancy: or(d["Placement.Tenancy"], "default"), Profile: d["IamInstanceProfile.Name"], PlacementGroup: d["Placement.GroupId"],
		Reservation: reservationOf(w.template), ReservationPreference: d["CapacityReservationSpecification.CapacityReservationPreference"],
		Data: maps.Clone(d), Market: d["InstanceMarketOptions.MarketType"], hiddenReads: a.trouble.hiddenReads, hiddenUntil: a.clock.Now().Add(a.trouble.hiddenFor),
	}
	if partition := d["Placement.PartitionNumber"]; partition != "" {
		i.Partition, _ = strconv.Atoi(partition) // a number, for the SDK sends one
	}
	for n := 1; d[fmt.Sprintf("NetworkInterface.%d.DeviceIndex", n)] != "" || d[fmt.Sprintf("NetworkInterface.%d.NetworkCardIndex", n)] != ""; n++ {
		at := fmt.Sprintf("NetworkInterface.%d.", n)
		face := Interface{Kind: or(d[at+"InterfaceType"], "interface")}
		for g := 1; d[fmt.Sprintf("%sSecurityGroupId.%d", at, g)] != ""; g++ {
			face.Groups = append(face.Groups, d[fmt.Sprintf("%sSecurityGroupId.%d", at, g)])
		}
		i.Interfaces = append(i.Interfaces, face)
	}
	if r := a.reservation(i.Reservation); r != nil {
		r.Left--
	}
	if s := a.subnet(w.subnet); s != nil {
		s.Free--
	}
	i.Address = fmt.Sprintf("10.0.%d.%d", a.serial/250, a.serial%250)
	a.wireUp(i, o)
	a.tags[i.ID] = maps.Clone(o.tags)
	a.instances = append(a.instances, i)
	return i
}
