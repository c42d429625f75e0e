/**
 * Part 2.2 of src/provider/README.md once more, as paths: the fields of an Instrument and the JSON kind of their
 * values.
 */
export const FIELDS: Readonly<Record<string, 'string' | 'number' | 'boolean' | 'array' | 'object'>> = {
  ...kinds('number', 'id issuePrice denomination'),
  ...kinds('string', 'name legalCountry currency priceType subscriptionEndTime initialFixingTime finalFixingTime'),
  ...kinds('string', 'paymentDate repaymentDate settlementType exerciseType direction'),
  ...kinds('boolean', 'quanto'),
  ...kinds('array', 'identifiers classifications underlyings interests markets parties distributions documents'),
  ...kinds('object', 'repayment regulations'),
  ...kinds('string', 'type value', 'identifiers'),
  ...kinds('string', 'type value', 'classifications'),
  ...kinds('string', 'isin vendorKey currency name barrierReachedTime', 'underlyings'),
  ...kinds('number', 'delta leverageFactor spotReference ratio', 'underlyings'),
  ...kinds('array', 'monitors', 'underlyings'),
  ...kinds('string', 'type monitoringType comparatorType startDate endDate', 'underlyings.monitors'),
  ...kinds('number', 'level percentage', 'underlyings.monitors'),
  ...kinds('string', 'type dayCount businessDayConvention', 'interests'),
  ...kinds('number', 'annualRate', 'interests'),
  ...kinds('boolean', 'periodAdjustment memory', 'interests'),
  ...kinds('array', 'coupons', 'interests'),
  ...kinds('string', 'startDate endDate valueDate', 'interests.coupons'),
  ...kinds('number', 'amount amountPaid numberOfCouponsPaid', 'interests.coupons'),
  ...kinds('string', 'valueDate currency disbursedISIN', 'repayment'),
  ...kinds('number', 'cashAmount repaymentRate disbursedAmount', 'repayment'),
  ...kinds('string', 'mic name firstTradingDate lastTradingDate', 'markets'),
  ...kinds('number', 'smallestTradeableUnit', 'markets'),
  ...kinds('string', 'type name lei exchangeGKey vendorCompanyId', 'parties'),
  ...kinds('string', 'country type startDate endDate', 'distributions'),
  ...kinds('string', 'documentType language link', 'documents'),
  ...kinds('object', 'emt', 'regulations'),
  ...kinds('object', 'targetMarket costsExAnte', 'regulations.emt'),
  ...kinds(
    'string',
    '_00001_EMT_Version _00040_Financial_Instrument_Currency _00096_Structured_Securities_Quotation',
    'regulations.emt',
  ),
  ...kinds(
    'object',
    'investorType knowledgeAndExperience abilityToBearLosses riskTolerance clientObjectivesAndNeeds distributionStrategy',
    'regulations.emt.targetMarket',
  ),
  ...kinds(
    'string',
    '_01000_Target_Market_Reference_Date _01010_Investor_Type_Retail _01020_Investor_Type_Professional ' +
      '_01030_Investor_Type_Eligible_Counterparty',
    'regulations.emt.targetMarket.investorType',
  ),
  ...kinds(
    'string',
    '_02010_Basic_Investor _02020_Informed_Investor _02030_Advanced_Investor _02040_Expert_Investor_Germany',
    'regulations.emt.targetMarket.knowledgeAndExperience',
  ),
  ...kinds(
    'string',
    '_03010_Compatible_With_Clients_Who_Can_Not_Bear_Capital_Loss ' +
      '_03020_Compatible_With_Clients_Who_Can_Bear_Limited_Capital_Loss ' +
      '_03040_Compatible_With_Clients_Who_Do_Not_Need_Capital_Guarantee ' +
      '_03050_Compatible_With_Clients_Who_Can_Bear_Loss_Beyond_Capital',
    'regulations.emt.targetMarket.abilityToBearLosses',
  ),
  ...kinds('number', '_03030_Limited_Capital_Loss_Level', 'regulations.emt.targetMarket.abilityToBearLosses'),
  ...kinds('number', '_04010_Risk_Tolerance_PRIIPS_Methodology', 'regulations.emt.targetMarket.riskTolerance'),
  ...kinds(
    'string',
    '_05010_Return_Profile_Client_Looking_For_Preservation _05020_Return_Profile_Client_Looking_For_Capital_Growth ' +
      '_05030_Return_Profile_Client_Looking_For_Income _05040_Return_Profile_Hedging ' +
      '_05050_Option_Or_Leveraged_Return_Profile _05070_Return_Profile_Pension_Scheme_Germany ' +
      '_05080_Minimum_Recommended_Holding_Period _05115_Other_Specific_Investment_Need',
    'regulations.emt.targetMarket.clientObjectivesAndNeeds',
  ),
  ...kinds(
    'string',
    '_06010_Execution_Only _06020_Execution_With_Appropriateness_Test_Or_Non_Advised_Services ' +
      '_06030_Investment_Advice _06040_Portfolio_Management',
    'regulations.emt.targetMarket.distributionStrategy',
  ),
  ...kinds(
    'number',
    '_07020_Gross_One_off_Cost_Financial_Instrument_Maximum_Entry_Cost_Non_Acquired ' +
      '_07080_One_off_Costs_Financial_Instrument_Typical_Exit_Cost ' +
      '_07090_One_off_Cost_Financial_Instrument_Exit_Cost_Structured_Products_Prior_RHP ' +
      '_07100_Financial_Instrument_Gross_Ongoing_Costs _07110_Financial_Instrument_Management_Fee ' +
      '_07130_Financial_Instrument_Transaction_Costs_Ex_Ante _07140_Financial_Instrument_Incidental_Costs_Ex_Ante ' +
      '_07150_Structured_Securities_Reference_Price_Ex_Ante',
    'regulations.emt.costsExAnte',
  ),
  ...kinds('string', '_07160_Ex_Ante_Costs_Reference_Date', 'regulations.emt.costsExAnte'),
};

/** The table of values seen in string fields. */
export const VALUES_SEEN: Readonly<Record<string, readonly string[]>> = {
  priceType: ['unit', 'percentage'],
  settlementType: ['cash'],
  exerciseType: ['american', 'european'],
  direction: ['long', 'short'],
  'identifiers.type': ['isin', 'valor', 'wkn', 'symbol', 'ric'],
  'classifications.type': ['sspa', 'eusipa', 'cfi'],
  'underlyings.monitors.type': ['barrier', 'strike', 'redemption', 'coupon'],
  'underlyings.monitors.monitoringType': ['continuous', 'atexpiry', 'atclose'],
  'underlyings.monitors.comparatorType': ['above', 'atorabove', 'below', 'atorbelow'],
  'interests.type': ['fix', 'conditional'],
  'interests.businessDayConvention': ['modifiedfollowing'],
  'parties.type': ['issuer', 'guarantor', 'marketmaker', 'custodian', 'payingagent'],
  'distributions.type': ['qualifiedinvestors', 'allinvestors', 'notallowed'],
  'documents.documentType': ['kid', 'termsheet', 'finalterms'],
};

function kinds<K extends string>(kind: K, names: string, parent = ''): Record<string, K> {
  return Object.fromEntries(names.split(' ').map((name) => [parent === '' ? name : `${parent}.${name}`, kind]));
}
