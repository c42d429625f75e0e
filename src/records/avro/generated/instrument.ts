// Generated from schemas/Instrument.avsc by src/records/avro/generate-types.ts; a test fails when it is stale.
// Decimals are unscaled bytes, dates days since 1970-01-01, date-times milliseconds since then, or microseconds.

/** The static data of a structured product, as the provider sends it (reference data interface, part 2.2). A pure function of what was sent: equal bytes mean that nothing changed. */
export type Instrument = {
  /** Id of the instrument at the provider. */
  readonly id: bigint;
  /** The first identifier of type isin, in any casing, with a value. Not sent by the provider: taken from identifiers. */
  readonly isin: string | null;
  /** Name of the instrument. */
  readonly name: string | null;
  /** Legal country. */
  readonly legalCountry: string | null;
  /** Currency. */
  readonly currency: string | null;
  /** How prices are quoted. Seen: unit, percentage. */
  readonly priceType: string | null;
  /** Issue price. */
  readonly issuePrice: Buffer | null;
  /** Denomination. */
  readonly denomination: Buffer | null;
  /** End of the subscription, without a zone. */
  readonly subscriptionEndTime: number | null;
  /** Initial fixing, without a zone. */
  readonly initialFixingTime: number | null;
  /** Final fixing, without a zone. */
  readonly finalFixingTime: number | null;
  /** Payment date. */
  readonly paymentDate: number | null;
  /** Repayment date. */
  readonly repaymentDate: number | null;
  /** Settlement. Seen: cash. */
  readonly settlementType: string | null;
  /** Exercise. Seen: american, european. */
  readonly exerciseType: string | null;
  /** Direction. Seen: long, short. */
  readonly direction: string | null;
  /** Whether the instrument is protected against currency changes. */
  readonly quanto: boolean | null;
  /** The identifiers of the instrument. Types seen: isin, valor, wkn, symbol, ric. */
  readonly identifiers: readonly TypeValuePair[] | null;
  /** The classifications of the instrument. Types seen: sspa, eusipa, cfi. */
  readonly classifications: readonly TypeValuePair[] | null;
  /** The underlyings of the instrument. */
  readonly underlyings: readonly Underlying[] | null;
  /** The interests of the instrument. */
  readonly interests: readonly Interest[] | null;
  /** The repayment of the instrument. */
  readonly repayment: Repayment | null;
  /** The markets of the instrument. */
  readonly markets: readonly Market[] | null;
  /** The parties to the instrument. */
  readonly parties: readonly Party[] | null;
  /** The distributions of the instrument. */
  readonly distributions: readonly Distribution[] | null;
  /** The documents about the instrument. */
  readonly documents: readonly Document[] | null;
  /** Regulatory data. */
  readonly regulations: Regulations | null;
  /** What was sent and has no field here: JSON pointer to minified JSON text, sorted by pointer. Also holds, verbatim, what a field could not hold exactly. Not sent by the provider. */
  readonly extras: { readonly [key: string]: string } | null;
};

/** A value of a type. */
export type TypeValuePair = {
  /** What the value is. */
  readonly type: string | null;
  /** The value of that type. */
  readonly value: string | null;
};

/** An underlying of the instrument. */
export type Underlying = {
  /** ISIN of the underlying. */
  readonly isin: string | null;
  /** Key of the underlying at the data vendor. */
  readonly vendorKey: string | null;
  /** Currency of the underlying. */
  readonly currency: string | null;
  /** Name of the underlying. */
  readonly name: string | null;
  /** Delta. */
  readonly delta: Buffer | null;
  /** Leverage factor. */
  readonly leverageFactor: Buffer | null;
  /** Spot reference. */
  readonly spotReference: Buffer | null;
  /** Ratio. */
  readonly ratio: Buffer | null;
  /** When the barrier was breached, without a zone; carried by barrier breach events. */
  readonly barrierReachedTime: number | null;
  /** The levels of this underlying that are watched. */
  readonly monitors: readonly Monitor[] | null;
};

/** A level of an underlying that is watched. */
export type Monitor = {
  /** What is watched. Seen: barrier, strike, redemption, coupon. */
  readonly type: string | null;
  /** When it is watched. Seen: continuous, atexpiry, atclose. */
  readonly monitoringType: string | null;
  /** How the price is compared with the level. Seen: above, atorabove, below, atorbelow. */
  readonly comparatorType: string | null;
  /** First day of the watch. */
  readonly startDate: number | null;
  /** Last day of the watch. */
  readonly endDate: number | null;
  /** The level watched. */
  readonly level: Buffer | null;
  /** The level as a percentage. */
  readonly percentage: Buffer | null;
};

/** An interest of the instrument. */
export type Interest = {
  /** Kind of interest. Seen: fix, conditional. */
  readonly type: string | null;
  /** Day count convention. */
  readonly dayCount: string | null;
  /** Business day convention. Seen: modifiedfollowing. */
  readonly businessDayConvention: string | null;
  /** Annual rate. */
  readonly annualRate: Buffer | null;
  /** Whether periods are adjusted. */
  readonly periodAdjustment: boolean | null;
  /** Whether missed coupons are made up for later. */
  readonly memory: boolean | null;
  /** The coupons of this interest. */
  readonly coupons: readonly Coupon[] | null;
};

/** A coupon of an interest. */
export type Coupon = {
  /** First day of the coupon period. */
  readonly startDate: number | null;
  /** Last day of the coupon period. */
  readonly endDate: number | null;
  /** Value date of the payment. */
  readonly valueDate: number | null;
  /** Amount of the coupon. */
  readonly amount: Buffer | null;
  /** Amount paid so far. */
  readonly amountPaid: Buffer | null;
  /** How many coupons were paid. */
  readonly numberOfCouponsPaid: Buffer | null;
};

/** The repayment of the instrument. */
export type Repayment = {
  /** Value date, as sent: the interface names its type (string) and no form. */
  readonly valueDate: string | null;
  /** Currency of the repayment. */
  readonly currency: string | null;
  /** Amount repaid in cash. */
  readonly cashAmount: Buffer | null;
  /** Rate of the repayment. */
  readonly repaymentRate: Buffer | null;
  /** Amount of the instrument that is delivered. */
  readonly disbursedAmount: Buffer | null;
  /** ISIN of the instrument that is delivered. */
  readonly disbursedISIN: string | null;
};

/** A market on which the instrument trades. */
export type Market = {
  /** Market identifier code. */
  readonly mic: string | null;
  /** Name of the market. */
  readonly name: string | null;
  /** First trading day. */
  readonly firstTradingDate: number | null;
  /** Last trading day. */
  readonly lastTradingDate: number | null;
  /** Smallest tradeable unit. */
  readonly smallestTradeableUnit: Buffer | null;
};

/** A party to the instrument. */
export type Party = {
  /** Role. Seen: issuer, guarantor, marketmaker, custodian, payingagent. */
  readonly type: string | null;
  /** Name of the party. */
  readonly name: string | null;
  /** Legal entity identifier. */
  readonly lei: string | null;
  /** Key of the party at the exchange. */
  readonly exchangeGKey: string | null;
  /** Id of the party at the data vendor. */
  readonly vendorCompanyId: string | null;
};

/** Where and to whom the instrument may be distributed. */
export type Distribution = {
  /** Country. */
  readonly country: string | null;
  /** To whom. Seen: qualifiedinvestors, allinvestors, notallowed. */
  readonly type: string | null;
  /** First day. */
  readonly startDate: number | null;
  /** Last day. */
  readonly endDate: number | null;
};

/** A document about the instrument. */
export type Document = {
  /** Kind of document. Seen: kid, termsheet, finalterms. */
  readonly documentType: string | null;
  /** Language. */
  readonly language: string | null;
  /** Address of the document. */
  readonly link: string | null;
};

/** Regulatory data of the instrument. */
export type Regulations = {
  /** European MiFID Template. */
  readonly emt: Emt | null;
};

/** The European MiFID Template of the instrument; field names are the template's. */
export type Emt = {
  /** EMT field 00001: EMT Version. */
  readonly _00001_EMT_Version: string | null;
  /** EMT field 00040: Financial Instrument Currency. */
  readonly _00040_Financial_Instrument_Currency: string | null;
  /** EMT field 00096: Structured Securities Quotation. */
  readonly _00096_Structured_Securities_Quotation: string | null;
  /** Target market. */
  readonly targetMarket: EmtTargetMarket | null;
  /** Costs ex ante. */
  readonly costsExAnte: EmtCostsExAnte | null;
};

/** EMT target market. */
export type EmtTargetMarket = {
  /** Investor types. */
  readonly investorType: EmtInvestorType | null;
  /** Knowledge and experience. */
  readonly knowledgeAndExperience: EmtKnowledgeAndExperience | null;
  /** Ability to bear losses. */
  readonly abilityToBearLosses: EmtAbilityToBearLosses | null;
  /** Risk tolerance. */
  readonly riskTolerance: EmtRiskTolerance | null;
  /** Client objectives and needs. */
  readonly clientObjectivesAndNeeds: EmtClientObjectivesAndNeeds | null;
  /** Distribution strategy. */
  readonly distributionStrategy: EmtDistributionStrategy | null;
};

/** EMT investor type. */
export type EmtInvestorType = {
  /** EMT field 01000: Target Market Reference Date. */
  readonly _01000_Target_Market_Reference_Date: string | null;
  /** EMT field 01010: Investor Type Retail. */
  readonly _01010_Investor_Type_Retail: string | null;
  /** EMT field 01020: Investor Type Professional. */
  readonly _01020_Investor_Type_Professional: string | null;
  /** EMT field 01030: Investor Type Eligible Counterparty. */
  readonly _01030_Investor_Type_Eligible_Counterparty: string | null;
};

/** EMT knowledge and experience. */
export type EmtKnowledgeAndExperience = {
  /** EMT field 02010: Basic Investor. */
  readonly _02010_Basic_Investor: string | null;
  /** EMT field 02020: Informed Investor. */
  readonly _02020_Informed_Investor: string | null;
  /** EMT field 02030: Advanced Investor. */
  readonly _02030_Advanced_Investor: string | null;
  /** EMT field 02040: Expert Investor Germany. */
  readonly _02040_Expert_Investor_Germany: string | null;
};

/** EMT ability to bear losses. */
export type EmtAbilityToBearLosses = {
  /** EMT field 03010: Compatible With Clients Who Can Not Bear Capital Loss. */
  readonly _03010_Compatible_With_Clients_Who_Can_Not_Bear_Capital_Loss: string | null;
  /** EMT field 03020: Compatible With Clients Who Can Bear Limited Capital Loss. */
  readonly _03020_Compatible_With_Clients_Who_Can_Bear_Limited_Capital_Loss: string | null;
  /** EMT field 03030: Limited Capital Loss Level. */
  readonly _03030_Limited_Capital_Loss_Level: Buffer | null;
  /** EMT field 03040: Compatible With Clients Who Do Not Need Capital Guarantee. */
  readonly _03040_Compatible_With_Clients_Who_Do_Not_Need_Capital_Guarantee: string | null;
  /** EMT field 03050: Compatible With Clients Who Can Bear Loss Beyond Capital. */
  readonly _03050_Compatible_With_Clients_Who_Can_Bear_Loss_Beyond_Capital: string | null;
};

/** EMT risk tolerance. */
export type EmtRiskTolerance = {
  /** EMT field 04010: Risk Tolerance PRIIPS Methodology. */
  readonly _04010_Risk_Tolerance_PRIIPS_Methodology: Buffer | null;
};

/** EMT client objectives and needs. */
export type EmtClientObjectivesAndNeeds = {
  /** EMT field 05010: Return Profile Client Looking For Preservation. */
  readonly _05010_Return_Profile_Client_Looking_For_Preservation: string | null;
  /** EMT field 05020: Return Profile Client Looking For Capital Growth. */
  readonly _05020_Return_Profile_Client_Looking_For_Capital_Growth: string | null;
  /** EMT field 05030: Return Profile Client Looking For Income. */
  readonly _05030_Return_Profile_Client_Looking_For_Income: string | null;
  /** EMT field 05040: Return Profile Hedging. */
  readonly _05040_Return_Profile_Hedging: string | null;
  /** EMT field 05050: Option Or Leveraged Return Profile. */
  readonly _05050_Option_Or_Leveraged_Return_Profile: string | null;
  /** EMT field 05070: Return Profile Pension Scheme Germany. */
  readonly _05070_Return_Profile_Pension_Scheme_Germany: string | null;
  /** EMT field 05080: Minimum Recommended Holding Period. */
  readonly _05080_Minimum_Recommended_Holding_Period: string | null;
  /** EMT field 05115: Other Specific Investment Need. */
  readonly _05115_Other_Specific_Investment_Need: string | null;
};

/** EMT distribution strategy. */
export type EmtDistributionStrategy = {
  /** EMT field 06010: Execution Only. */
  readonly _06010_Execution_Only: string | null;
  /** EMT field 06020: Execution With Appropriateness Test Or Non Advised Services. */
  readonly _06020_Execution_With_Appropriateness_Test_Or_Non_Advised_Services: string | null;
  /** EMT field 06030: Investment Advice. */
  readonly _06030_Investment_Advice: string | null;
  /** EMT field 06040: Portfolio Management. */
  readonly _06040_Portfolio_Management: string | null;
};

/** EMT costs ex ante. */
export type EmtCostsExAnte = {
  /** EMT field 07020: Gross One off Cost Financial Instrument Maximum Entry Cost Non Acquired. */
  readonly _07020_Gross_One_off_Cost_Financial_Instrument_Maximum_Entry_Cost_Non_Acquired: Buffer | null;
  /** EMT field 07080: One off Costs Financial Instrument Typical Exit Cost. */
  readonly _07080_One_off_Costs_Financial_Instrument_Typical_Exit_Cost: Buffer | null;
  /** EMT field 07090: One off Cost Financial Instrument Exit Cost Structured Products Prior RHP. */
  readonly _07090_One_off_Cost_Financial_Instrument_Exit_Cost_Structured_Products_Prior_RHP: Buffer | null;
  /** EMT field 07100: Financial Instrument Gross Ongoing Costs. */
  readonly _07100_Financial_Instrument_Gross_Ongoing_Costs: Buffer | null;
  /** EMT field 07110: Financial Instrument Management Fee. */
  readonly _07110_Financial_Instrument_Management_Fee: Buffer | null;
  /** EMT field 07130: Financial Instrument Transaction Costs Ex Ante. */
  readonly _07130_Financial_Instrument_Transaction_Costs_Ex_Ante: Buffer | null;
  /** EMT field 07140: Financial Instrument Incidental Costs Ex Ante. */
  readonly _07140_Financial_Instrument_Incidental_Costs_Ex_Ante: Buffer | null;
  /** EMT field 07150: Structured Securities Reference Price Ex Ante. */
  readonly _07150_Structured_Securities_Reference_Price_Ex_Ante: Buffer | null;
  /** EMT field 07160: Ex Ante Costs Reference Date. */
  readonly _07160_Ex_Ante_Costs_Reference_Date: string | null;
};
