import { changingDecimal, day, scientific } from './number-slots.ts';
import { type NodeObject, verbatim } from './text-template.ts';

/** The European MiFID template of a product (part 2.2 of src/provider/README.md, Regulations). `risk` is 1 to 7. */
export function regulations(risk: number, currency: string, quotation: string, income: boolean): NodeObject {
  const protects = risk <= 2;
  return {
    emt: {
      _00001_EMT_Version: 'V4.2',
      _00040_Financial_Instrument_Currency: currency,
      _00096_Structured_Securities_Quotation: quotation,
      targetMarket: {
        investorType: {
          _01000_Target_Market_Reference_Date: day(0),
          _01010_Investor_Type_Retail: 'Y',
          _01020_Investor_Type_Professional: 'Y',
          _01030_Investor_Type_Eligible_Counterparty: 'Y',
        },
        knowledgeAndExperience: {
          _02010_Basic_Investor: protects ? 'Y' : 'N',
          _02020_Informed_Investor: risk <= 5 ? 'Y' : 'N',
          _02030_Advanced_Investor: 'Y',
          _02040_Expert_Investor_Germany: risk > 6 ? 'Y' : null,
        },
        abilityToBearLosses: {
          _03010_Compatible_With_Clients_Who_Can_Not_Bear_Capital_Loss: protects ? 'Y' : 'N',
          _03020_Compatible_With_Clients_Who_Can_Bear_Limited_Capital_Loss: protects ? 'Y' : 'N',
          _03030_Limited_Capital_Loss_Level: protects ? changingDecimal(301, 5, 10, 4) : null,
          _03040_Compatible_With_Clients_Who_Do_Not_Need_Capital_Guarantee: 'Y',
          _03050_Compatible_With_Clients_Who_Can_Bear_Loss_Beyond_Capital: 'Neutral',
        },
        riskTolerance: { _04010_Risk_Tolerance_PRIIPS_Methodology: verbatim(String(risk)) },
        clientObjectivesAndNeeds: {
          _05010_Return_Profile_Client_Looking_For_Preservation: protects ? 'Y' : 'N',
          _05020_Return_Profile_Client_Looking_For_Capital_Growth: income ? 'Neutral' : 'Y',
          _05030_Return_Profile_Client_Looking_For_Income: income ? 'Y' : 'N',
          _05040_Return_Profile_Hedging: risk > 6 ? 'Y' : 'Neutral',
          _05050_Option_Or_Leveraged_Return_Profile: risk > 6 ? 'Y' : 'N',
          _05070_Return_Profile_Pension_Scheme_Germany: 'Neutral',
          _05080_Minimum_Recommended_Holding_Period: risk > 6 ? 'VS' : 'M',
          _05115_Other_Specific_Investment_Need: 'N',
        },
        distributionStrategy: {
          _06010_Execution_Only: 'R',
          _06020_Execution_With_Appropriateness_Test_Or_Non_Advised_Services: 'B',
          _06030_Investment_Advice: 'B',
          _06040_Portfolio_Management: 'B',
        },
      },
      costsExAnte: {
        _07020_Gross_One_off_Cost_Financial_Instrument_Maximum_Entry_Cost_Non_Acquired: changingDecimal(311, 0, 3, 18),
        _07080_One_off_Costs_Financial_Instrument_Typical_Exit_Cost: changingDecimal(313, 0, 2, 6),
        _07090_One_off_Cost_Financial_Instrument_Exit_Cost_Structured_Products_Prior_RHP: changingDecimal(315, 0, 2, 9),
        _07100_Financial_Instrument_Gross_Ongoing_Costs: scientific(317),
        _07110_Financial_Instrument_Management_Fee: verbatim(income ? '0' : '0.0120'),
        _07130_Financial_Instrument_Transaction_Costs_Ex_Ante: verbatim('0.00'),
        _07140_Financial_Instrument_Incidental_Costs_Ex_Ante: verbatim(protects ? '0E-8' : '0.0'),
        _07150_Structured_Securities_Reference_Price_Ex_Ante: changingDecimal(321, 90, 20, 2),
        _07160_Ex_Ante_Costs_Reference_Date: day(0),
      },
    },
  };
}
