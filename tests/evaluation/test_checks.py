"""Checks of a translation against its source: each finds its fault, and good language is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.evaluation.checks import changes_numbers, changes_placeholders, check, has_loop, n_words

ADDRESS = "https://example.org/a?b=1"


def test_a_good_translation_has_no_faults_and_faults_are_named_in_order() -> None:
    assert check("Two dogs.", "Zwei Hunde.", src_lang="en", tgt_lang="de") == ()
    bad = "Drei Hunde Hunde Hunde."
    found = check("Two dogs {here}.", bad, src_lang="en", tgt_lang="de", more=["cut", "omission", "length_ratio"])
    assert found == ("cut", "length_ratio", "loop", "numbers", "omission", "placeholders")


def test_a_blank_translation_of_a_text_is_an_omission() -> None:
    assert check("Two dogs.", " ", src_lang="en", tgt_lang="zh", more=["omission"]) == ("omission",)
    assert check("Two dogs.", "", src_lang="en", tgt_lang="zh") == ("omission",)
    assert check("", "", src_lang="en", tgt_lang="zh") == ()


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("A man is on a ladder.", "Ein Mann steht auf einer Leiter auf einer Leiter."),
        ("A man is on a ladder.", "Ein Mann Mann Mann steht auf einer Leiter."),
        ("A man is on a ladder.", "Ein Mann, und eine Frau, und eine Frau, und eine Frau"),
        ("He runs.", "他跑跑跑跑。"),
        ("A man stands in the park.", "一个男人站在公园里站在公园里。"),
        ("A man stands in the park.", "一个男人站在公园里，站在公园里。"),
        ("A man stands in the park.", "一个男人，站在公园里，站在公园里休息。"),
        ("A man stands in the park.", "他站在公园里，他站在公园里，他站在公园里休息。"),
        ("No, no!", "Nein, nein, nein, nein, nein, nein!"),
        ("Ha ha.", "哈哈哈哈哈哈哈哈哈哈。"),
        ("a book", "किताब किताब किताब"),
    ],
)
def test_what_is_said_again_and_again_is_a_loop(source: str, translation: str) -> None:
    assert has_loop(source, translation)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("The woman who hit the ball.", "Die Frau, die die Kugel traf."),
        ("Look, think it over.", "看看，研究研究。"),
        ("The body of the function of functions.", "就是函数的函数的体。"),
        ("No, no, no!", "不，不，不！"),
        ("Good, good, good.", "很好。很好。很好。"),
        ("Think of my son. My son is well.", "想想我的儿子。我的儿子很好。"),
        ("It uses the default unit, which can be set.", "使用该设置的默认单位，默认单位可以设置。"),
        ("Programs that you can change", "这些示例程序（示例程序可以修改）"),
        ("a link, a commercial one", "un legame, un legame commerciale"),
        ("a b a b a b", "c d c d c d"),
        ("Bora Bora is far.", "Bora Bora ist weit."),
        ("A very very big dog.", "Ein sehr sehr sehr großer Hund."),  # half as often again
        ("", ""),
        ("My grandparents live here.", "मेरे दादा-दादी यहाँ रहते हैं।"),
        ("a baby", "பாப்பா"),
        ("He runs fast and well.", "သူမြန်မြန်နဲ့ကောင်းကောင်းပြေးတယ်။"),
    ],
)
def test_good_language_is_no_loop(source: str, translation: str) -> None:
    assert not has_loop(source, translation)


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("en-de", "Two men wait.", "Drei Männer warten."),
        ("en-de", "In May a million came.", "Im Mai kamen 5 Millionen."),  # the fifth month, but no 5 of them
        ("en-zh", "Two men wait.", "三个男人在等。"),
        ("en-zh", "On the twenty-third day", "二十四日"),
        ("en-zh", "Twelve men wait.", "一两个男人在等。"),
        ("zh-en", "两个人在等。", "Three people wait."),
        ("zh-en", "他对三个人说。", "He told 3 people in 2 rooms."),  # 对 is no pair
        ("en-de", "It costs 3,500.", "Es kostet 3500,50."),
        ("en-de", "In 1998 it began.", "Es begann."),
        ("en-de", "It began.", "Es begann 1998."),
        ("en-zh", "Use Python 3.14.", "使用 Python 314。"),
        ("en-it", "It weighs 25 kilos.", "Pesa 52 chili."),
        ("en-ru", "300,000 people", "500 тыс. человек"),
        ("en-es", "1,500,000,000 euros", "1,5 millones de euros"),
        ("en-hi", "300,000 people", "3 करोड़ लोग"),
        ("th-en", "3 แสนล้านบาท", "300,000,000 baht"),
        ("en-fi", "We meet at 14:30.", "Tapaamme klo 14.50."),
        ("fa-en", "۳/۵ میلیون نفر", "3.7 million people"),
        ("en-de", "20% less", "２１ % weniger"),
        ("en-zh", "It cost 10 billion dollars.", "它花了10亿美元。"),
        ("en-zh", "5 million people", "5亿人"),
        ("en-fr", "200 million", "deux cent mille"),
        ("en-de", "Half a million", "2.500.000"),
        ("en-de", "Five dozen eggs", "50 Eier"),
        ("en-zh", "Two dozen people came.", "来了三十几个人。"),
        ("en-zh", "In the 1980s", "20世纪90年代"),
        ("en-zh", "In the 1840s", "十九世纪五十年代"),
        ("de-en", "Der Zug fährt um halb acht.", "The train leaves at half past eight."),
        ("de-en", "1 Billion Euro", "1 billion euros"),  # a thousand times as much
        ("en-de", "two billion euros", "zwei Billionen Euro"),
        ("en-zh", "Call 13812345678.", "请拨打13812345679。"),
        ("en-zh", "Pay to 6222021234567890123.", "请汇至6222021234567890124。"),
        ("en-de", "It has 9 rooms.", "Es hat 9.000 Zimmer."),
        ("en-zh", "2 to 3 million people", "2万至3万人"),
        ("en-zh", "two or three years", "四年或三年"),
        ("en-de", "Take 0.5 mg.", "Nehmen Sie 0,8 mg."),
        ("en-it", "It weighs 2.5 kilos.", "Pesa 2,8 chili."),
        ("zh-lv", "它花费200万欧元。", "Tas maksā 2 miljardus eiro."),
        ("en-zh", "30% off", "六折"),
        ("zh-en", "8.5折", "25% off"),
        ("en-zh", "24 roses", "三打玫瑰"),
        ("en-zh", "60% of all", "五分之四"),
        ("en-zh", "18 months", "两年半"),
        ("en-zh", "1.75 m", "一米八"),
        ("zh-en", "差一刻八点", "at 6:45"),
        ("en-zh", "300,000 to 500,000", "三十到六十万"),
        ("en-zh", "30 to 500 people", "四十到五百人"),
        ("en-zh", "24 months", "三年"),
        ("en-zh", "She won in 9.58 seconds", "她以9秒68获胜"),
        ("en-zh", "five grand a month", "每月六千块"),
        ("en-zh", "three trillion dollars", "两兆美元"),
        ("en-zh", "at 1500 UTC, at 10.30 this morning", "1600 UTC，今天上午10:30"),
        ("en-zh", "two - thirds of them", "其中的2/5"),
        ("zh-en", "四点五亿人", "460 million people"),
        ("en-zh", "$1.2tn", "1.2亿美元"),
        ("en-zh", "300 years", "两个世纪"),
        ("en-zh", "since version 2.3.1 of 3.2", "自3.2的2.3.2版起"),
        ("en-zh", "Take 8 mg of it.", "服用20毫克。"),
        ("en-de", "7 dogs at 3 p.m.", "30 Hunde um 15 Uhr"),
        ("th-en", "๑๔.๓๐ น.", "at 14:35"),
        ("en-hi", "350,000", "साढ़े 4 लाख"),
        ("sw-en", "elfu 25", "26,000"),
        ("zh-en", "地址为10.0.0.1和10.0.0.2", "The addresses are 10.0.0.1 and 10.0.0.1."),
        ("en-de", "Two men and two dogs wait.", "Zwei Männer und fünf Hunde warten."),
        ("en-zh", "Two men and two dogs wait.", "三个男人和两条狗在等。"),
        ("zh-en", "三个人在等，其中两个是学生。", "Three people wait, three of them students."),
        ("en-zh", "It is half past two.", "三点半了。"),
        ("en-fr", "Two and a half million", "Quatre millions et demi"),
        ("en-de", "It is -5 degrees.", "Es sind 5 Grad."),
        ("en-zh", "It is minus 5 degrees.", "气温是5度。"),
        ("zh-en", "零下5度，零下五度", "5 degrees, five degrees"),
        ("zh-en", "返回值为-1。", "It returns 1."),
        ("fr-en", "Il fait moins 5 degrés.", "It is 5 degrees."),
        ("en-de", "It is 5 degrees.", "Es sind -5 Grad."),
    ],
)
def test_another_number_is_found(languages: str, source: str, translation: str) -> None:
    src_lang, tgt_lang = languages.rsplit("-", 1)
    assert changes_numbers(source, translation, src_lang=src_lang, tgt_lang=tgt_lang)


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("en-de", "Two men wait.", "Beide Männer warten."),
        ("en-de", "A man waits.", "Ein Mann wartet."),
        ("en-de", "It costs 3,500.50.", "Es kostet 3.500,50."),
        ("en-fr", "10,000 people", "10 000 personnes"),
        ("en-fr", "12,000 of 13 million people", "12\u202f000 de 13\u00a0millions de personnes"),
        ("en-zh", "2.7 million litres", "270万升"),
        ("en-zh", "More than 18.5 million", "1850多万"),
        ("en-zh", "More than a million", "一百多万"),
        ("en-zh", "On the twenty-third day", "二十三日"),
        ("en-zh", "Two decades later", "二十年后"),
        ("en-zh", "A day or two, two or three days", "一两天，三两天"),
        ("en-zh", "School begins at eight-thirty.", "学校八点半上课。"),
        ("en-zh", "School begins at six-thirty.", "学校6点30分上课。"),
        ("en-zh", "Between seven and eight-thirty.", "七点到八点半。"),
        ("en-zh", "He was five-and-twenty.", "他二十五岁。"),
        ("en-zh", "On May 3, 1998, at 3 p.m.", "1998年5月3日15点"),
        ("en-zh", "In the 1990s", "20世纪90年代"),
        ("zh-en", "从二十世纪六十年代到八十年代", "From the 1960s to the 1980s"),
        ("zh-en", "20世纪六七十年代", "In the sixties and seventies"),
        ("zh-en", "18世纪40年代", "In the 1740s"),
        ("en-zh", "About two dozen people came.", "来了二十几个人，不到两打。"),
        ("en-zh", "For 150 years, and 36 hours", "一个半世纪又一天半"),
        ("en-zh", "A century and a half", "150年"),
        ("en-zh", "Two billion, six million, five thousand, four hundred and ten", "2,006,005,410"),
        ("en-de", "One million, forty-two thousand", "1.042.000"),
        ("en-zh", "One thousand, two thousand, a hundred, a thousand, a hundred", "一千、两千、一百、一千、一百"),
        ("en-zh", "It is half past two.", "两点半了。"),
        ("en-zh", "20 percent of 3,000", "三千的百分之二十"),
        ("zh-en", "他有十二本书。", "He has a dozen books."),
        ("en-zh", "On Wednesday we met two friends.", "星期三我们见了两个朋友。"),
        ("en-it", "3 dogs", "tre cani"),
        ("en-de", "Nothing here", "Hier ist nichts"),
        ("en-de", "The 21st century, 007", "Das 21. Jahrhundert, 007"),
        ("en-zh", "10 billion, 2.5 percent, pi is 3.14", "100亿，百分之二点五，圆周率是三点一四"),
        ("en-zh", "$112,000 for 120,500,000 people", "1亿2050万人用了11万2千美元"),
        ("en-zh", "He is 5'10\" tall.", "他身高5英尺10英寸。"),
        ("en-zh", "at 10.30 am", "上午10:30"),
        ("de-en", "3 Mrd. Euro", "3 billion euros"),
        ("de-en", "1 Billion Euro, 2,5 Billionen Dollar", "1 trillion euros, $2.5 trillion"),
        ("en-de", "two trillion euros", "zwei Billionen Euro"),
        ("fr-en", "2 billions d'euros", "2 trillion euros"),
        ("zh-en", "四十八亿五千五百一十二万八千九百三十七人", "4,855,128,937 people"),
        ("en-de", "9.000 seconds", "9,000 Sekunden"),
        ("en-zh", "Hundreds of thousands fled, tens of millions of dollars", "数十万人逃离，数千万美元"),
        ("en-de", "Tens of thousands of people", "Zehntausende Menschen"),
        ("en-zh", "Between 2 and 3 million people", "200万至300万人"),
        ("zh-en", "30亿到40亿美元", "$3-4 billion"),
        ("en-zh", "three to four million", "300万到400万"),
        ("en-zh", "two or three hundred, 30,000 to 50,000", "两三百，三到五万"),
        ("en-zh", "$2.5m for 90k users, 75 grand", "9万用户250万美元，7万5千"),
        ("en-zh", "40 percent, a .22 rifle", "四成，0.22口径步枪"),
        ("en-zh", "0.5 hours, 0.2 percent", "半小时，百分之零点二"),
        ("en-fr", "The 14th of 15, 4th", "Le quatorzième d'une quinzaine, quatrième"),
        ("fr-en", "une vingtaine de personnes sur une centaine", "20 of 100 people"),
        ("en-de", "An 8-year-old, 20 times", "Ein Achtjähriger, zwanzigmal"),
        ("de-zh", "1 Billion Euro", "1万亿欧元"),
        ("en-de", "1/3 of it, 3/4, 4 times", "ein Drittel davon, drei Viertel, viermal"),
        ("zh-en", "三点一刻", "at a quarter past three"),
        ("zh-en", "他睡了八个半小时。", "He slept for 8.5 hours."),
        ("en-de", "3.5 hours", "dreieinhalb Stunden"),
        ("de-en", "Der Zug fährt um halb acht.", "The train leaves at half past seven."),
        ("de-en", "um halb 8, halb eins", "at 7:30, 12:30"),
        ("en-de", "half of Europe, half as many", "halb Europa, halb so viele"),
        ("de-en", "halb ein Mensch, halb ein Tier", "half man, half beast"),
        ("en-zh", "1/2 cup of sugar", "半杯糖"),
        ("en-fr", "200 million euros", "deux cents millions d'euros"),
        ("en-fr", "80 million", "quatre-vingts millions"),
        ("en-fr", "2,500,000", "deux millions cinq cent mille"),
        ("en-de", "3,500,000", "drei Millionen fünfhunderttausend"),
        ("en-de", "Half a million", "500.000"),
        ("en-de", "Two and a half million", "2,5 Millionen"),
        ("en-zh", "Two and a half million", "两百五十万"),
        ("de-en", "Anderthalb Millionen", "1.5 million"),
        ("en-fr", "A quarter of a million", "250 000"),
        ("en-ar", "1,234 books, 3.5 metres", "١٬٢٣٤ كتاب، ٣٫٥ متر"),
        ("en-fa", "13.5", "۱۳٫۵"),
        ("en-hi", "12,34,567 rupees", "1,234,567 रुपये"),
        ("hi-en", "₹12,34,567.50", "₹1,234,567.50"),
        ("en-ja", "35,000 yen, 12,000 yen", "3万5000円、1万2000円"),
        ("ja-en", "12万3456人、1億2345万6789人", "123,456 people, 123,456,789 people"),
        ("ko-en", "3만 명, 200만 원, 1억 명", "30,000 people, 2,000,000 won, 100,000,000 people"),
        ("en-fr", "in the 19th century", "au XIXe siècle"),
        ("en-es", "the 21st century", "el siglo XXI"),
        ("ru-en", "в XIX веке", "in the 19th century"),
        ("en-de", "Five dozen eggs", "60 Eier"),
        ("en-th", "In 1997 and 2024", "ใน พ.ศ. 2540 และ ๒๕๖๗"),
        ("th-en", "ราคา 2540 บาท", "It costs 2,540 baht."),
        ("en-ru", "300,000 people, 1,500,000,000 roubles", "300 тыс. человек, 1,5 млрд рублей"),
        ("en-uk", "20,000 people", "20 тисяч осіб"),
        ("pl-en", "20 tys. osób, 3,5 mln złotych, 15 tysięcy", "20,000 people, 3,500,000 zlotys, 15,000"),
        ("en-cs", "20,000 people and 3 printers", "20 tisíc lidí a 3 tiskárny"),
        ("hu-en", "20 ezer ember, 3,5 millió forint", "20,000 people, 3,500,000 forints"),
        ("en-es", "20,000 people, 1,500,000,000 euros", "20 mil personas, 1,5 mil millones de euros"),
        ("pt-en", "20 mil pessoas, 3,5 milhões de reais", "20,000 people, 3,500,000 reais"),
        ("en-ro", "25,000,000 lei", "25 de milioane de lei"),
        ("en-it", "20,000 people at 14:30", "20mila persone alle ore 14.30"),
        ("en-el", "20,000 people, 20 cm", "20 χιλιάδες άνθρωποι, 20 εκατοστά"),
        ("en-tr", "20,000 people at 14:30, 15 buildings", "saat 14.30'da 20 bin kişi, 15 bina"),
        ("vi-en", "5 nghìn tỷ đồng, 63 tỉnh", "5,000,000,000,000 dong, 63 provinces"),
        ("en-id", "20,000 people at 14:30", "20 ribu orang pukul 14.30"),
        ("th-en", "3 แสนล้านบาท, 2 หมื่นคน", "300,000,000,000 baht, 20,000 people"),
        ("ar-en", "٣٠٠ ألف شخص، 5 ملايين", "300,000 people, 5,000,000"),
        ("fa-en", "۳/۵ میلیون نفر، ۱۲/۵ درصد، ۱/۲", "3.5 million people, 12.5%, 1/2"),
        ("he-en", "20 אלף איש", "20,000 people"),
        ("hi-en", "1.5 करोड़ रुपये, 20 हज़ार, 2 लाख करोड़", "15,000,000 rupees, 20,000, 2,000,000,000,000"),
        ("en-bn", "5 lakh taka", "৫,০০,০০০ টাকা"),
        ("en-ja", "1,234,567 yen, 3 trillion yen", "１，２３４，５６７円、3兆円"),
        ("ja-en", "売上は1兆5000億円、1億2千万人", "Sales were 1.5 trillion yen, 120 million people"),
        ("ko-en", "3조 5천억 원, 2천500만 명", "3.5 trillion won, 25 million people"),
        ("zh-lv", "它花费20亿欧元。", "Tas maksā 2 miljardus eiro."),
        ("en-de", "1,234,567,890,123,456 atoms", "1.234.567.890.123.456 Atome"),
        ("ko-en", "4천 2백만 명, 3천 5백억 원", "42 million people, 350 billion won"),
        ("ko-en", "5백만 명, 3조 원, 제13조", "5,000,000 people, 3,000,000,000,000 won, Article 13"),
        ("en-lzh", "300 poems", "詩三百"),
        ("en-zh", "30% off, 15% off, at 70% of the price", "七折，八五折，七折"),
        ("zh-en", "全场9折，会员8.5折或75折", "10% off everything, 15% or 25% off for members"),
        ("en-zh", "12 eggs, 24 roses, 6 pens", "一打鸡蛋，两打玫瑰，半打钢笔"),
        ("zh-en", "四分之三的人，五分之二，千分之五", "75% of the people, 40%, 0.5%"),
        ("en-zh", "25%, 33% and 3/4 of it", "四分之一、三分之一和四分之三"),
        ("en-zh", "50% of us; half of us", "我们的一半；我们的50%"),
        ("zh-en", "75%的人", "three quarters of the people"),
        ("en-zh", "He left 18 months ago, she 6 months ago.", "他一年半前离开，她半年前。"),
        ("zh-en", "18个月", "a year and a half"),
        ("en-zh", "30% to 40%, 65%, 80 or 90 percent", "3成到4成，六成五，八九成"),
        ("en-zh", "$2.5, 1.75 m, 37.5 degrees", "两块五，一米七五，三十七度五"),
        ("zh-en", "差一刻八点，六点差一刻，差十分一点", "at 7:45, at 5:45, at 12:50"),
        ("en-zh", "at a quarter to eight, at ten to six", "差一刻八点，差十分六点"),
        ("en-zh", "300,000 to 500,000, 30,000 to 100,000", "三十到五十万，三至十万"),
        ("en-zh", "3 to 5 million, 23 to 500 people", "三到五百万，二十三到五百人"),
        ("en-zh", "12 months, 24 months, 24 hours, 90 minutes", "一年，两年，一天，一个半小时"),
        ("zh-en", "一岁半，90分钟", "18 months old, an hour and a half"),
        ("en-zh", "She won in 9.58 seconds, he in 1:57.8", "她以9秒58获胜，他用了1分57秒8。"),
        ("en-zh", "Eighteen grand a year, three grand pianos", "一年一万八，三架钢琴"),
        ("en-fr", "3,000 people", "trois milliers de personnes"),
        ("en-zh", "three trillion dollars of $17 mil, 5 MB", "1700万美元中的三兆美元，5兆"),
        ("en-zh", "Around 1500 UTC", "在1500 UTC左右"),
        ("en-zh", "at 1500 UTC, at 10.30 this morning", "世界时15时，今早10点半"),
        ("en-zh", "It's two thirds, 40 percent, one fifth", "是2/3，五分之二，五分之一"),
        ("zh-en", "40%，20%", "two-fifths and a fifth"),
        ("en-zh", "sixty - six thousand, on the twenty first", "六万六，二十一日"),
        ("en-zh", "Thousands upon thousands", "成千上万"),
        ("zh-en", "四点五亿人，十点五万", "450 million people, 105,000"),
        ("en-zh", "$1.2tn, ¥5m, 6mn people", "1.2万亿美元，500万元，600万人"),
        ("zh-en", "上周三分之二的股票下跌。", "Two thirds of the 3 stocks fell last week."),
        ("zh-en", "四百年，两千年，100周年", "four centuries, two millennia, the centenary"),
        ("zh-en", "三个世纪", "300 years"),
        ("en-zh", "one part in 500, two of three", "五百分之一，三个中的两个"),
        ("zh-en", "亿万颗星星，千百万人", "Billions of stars and millions of people"),
        ("zh-en", "五四运动后的三年", "The three years after the May Fourth Movement"),
        ("zh-en", "九一一袭击，九一八的三天", "The attacks of 9/11, and three days of September 18"),
        ("zh-Hant-en", "「十四五」規劃的三年", "Three years of the Fourteenth Five-Year Plan"),
        ("en-zh", "COVID-19 spread 24/7.", "新冠疫情日夜蔓延。"),
        ("en-zh", "More than a dozen played blackjack.", "10多人玩了21点。"),
        ("en-zh", "$2.95, 1.75 m, 37.5 degrees", "2块95，身高1米75，37度5"),
        ("en-zh", "$ 2.76m, £10 m, $5B", "276万美元，1000万英镑，50亿美元"),
        ("en-zh", "the 13th Five-Year Plan", "“十三五”规划"),
        ("zh-en", "四万万同胞，三五天", "400 million compatriots, 3 to 5 days"),
        ("en-zh", "12:00 at midnight; midnight", "半夜12点；夜里12点"),
        ("en-zh", "500 sheets of A4, an i7 with 512 GB", "A4，500张；i7，512GB"),
        ("sv-en", "kl. 14.30", "at 14:30"),
        ("en-fr", "at five o'clock in the afternoon", "vers 17 heures"),
        ("zh-en", "下午3点到八点", "from 15:00 to 20:00"),
        ("en-zh", "On 3.2.2007 it came to version 2.3.1.", "2007年2月3日推出2.3.1版。"),
        ("de-fi", "am 07.03.2023 und am 11.3.2023", "7.3.2023 ja 11.03.2023"),
        ("nl-en", "om 14.30 uur", "at 14:30"),
        ("th-en", "๑๔.๓๐ น.", "at 14:30"),
        ("en-hi", "at 9:20, at 3:30, 350,000", "9.20 बजे, साढ़े 3 बजे, साढ़े 3 लाख"),
        ("ur-en", "9.20 بجے، ساڑھے 3 بجے، ساڑھے 3 لاکھ", "at 9:20, at 3:30, 350,000"),
        ("en-pl", "at 14:30", "o godz. 14.30"),
        ("ro-en", "la ora 14.30", "at 14:30"),
        ("el-en", "στις 14.30", "at 14:30"),
        ("en-ko", "at 3:30", "3시 반"),
        ("sw-en", "elfu 25, milioni 3.5", "25,000, 3,500,000"),
        ("en-ha", "25,000 people, 3,000,000", "mutane dubu 25, miliyan 3"),
        ("ar-en", "1،000،000 كتاب", "1,000,000 books"),
        ("en-ja", "hexadecimal, octal, more than one row", "16進数、8進数、2行以上"),
        ("en-zh", "Two men and two dogs wait.", "两个男人和2条狗在等。"),
        ("en-de", "Two men and two dogs wait, both hungry.", "Zwei Männer und ihre Hunde warten, beide hungrig."),
        ("en-de", "It is -5 degrees, minus 3 at night.", "Es sind minus fünf Grad, in der Nacht -3."),
        ("en-zh", "It was −5 °C, five below zero.", "气温零下5度，零下五度。"),
        ("en-zh", "It is -1 on failure, negative", "失败时为负1"),
        ("zh-en", "模块数减少了（-18）", "18 modules fewer"),
        ("en-de", "plus or minus 100 miles, 5 -7 of the F -16", "etwa 100 Meilen, 5 bis 7 der F16"),
        ("en-fr", "At least 5 degrees; five to six", "Au moins 5 degrés; six heures moins cinq"),
        ("en-es", "It is -5 degrees.", "Hace cinco grados bajo cero."),
        ("en-de", "&#91;rural&#93; areas", "ländliche Gebiete"),
        ("en-de", "14 days, two weeks, a fortnight", "zwei Wochen, 14 Tage, vierzehn Tage"),
        ("zh-en", "两周，三个星期", "14 days, 21 days"),
        ("en-fr", "within two weeks", "dans les quinze jours"),
        ("en-de", "67 thousand million euros, 80, 000 crowns", "67 Milliarden Euro, 80 000 Kronen"),
        ("en-de", "25m people, 7.5m registered voters", "25 Millionen Menschen, 7,5 Millionen Wähler"),
        ("en-de", "50% of it, 20% of it, three quarters of it", "die Hälfte, ein Fünftel, 3/4 davon"),
        ("en-fr", "50% of it, 75% of it", "la moitié, trois quarts"),
        ("en-de", "250 m2, 5 km2, 3 m3", "250 m², 5 km², 3 m³"),
        ("en-de", "100%, 5 times, in the 70s", "hundertprozentig, fünffach, in den Siebzigern"),
        ("en-fr", "7.5 million, two and a half million", "7 millions et demi, deux millions et demi"),
        ("en-fr", "350 billion more, two percent", "350 autres milliards, deux pour cent"),
        ("en-fr", "Tens of thousands of protesters", "Des dizaines de milliers de manifestants"),
        ("en-ja", "A few days later they never came upstairs again.", "2、3日後、2人は2度と2階に来なかった。"),
        ("en-zh", "A $125,000 machine of 2.75 miles", "一台12。5万美元的2。75英里机器"),
        ("en-zh", "Thousands of thousands, ten thousands", "千千，万万"),
    ],
)
def test_the_same_number_written_otherwise_is_no_fault(languages: str, source: str, translation: str) -> None:
    src_lang, tgt_lang = languages.rsplit("-", 1)
    assert not changes_numbers(source, translation, src_lang=src_lang, tgt_lang=tgt_lang)


def test_a_roman_numeral_is_a_hint_and_the_english_i_is_none() -> None:
    assert not changes_numbers("I was there", "Ich war da", src_lang="en", tgt_lang="de")
    assert changes_numbers("5 chiens", "V dogs", src_lang="fr", tgt_lang="en")


@pytest.mark.parametrize("mark", ["،", "؟", "।", "។", "։", "»", "を", "에서"])
def test_an_address_ends_where_another_script_goes_on(mark: str) -> None:
    assert not changes_placeholders("See https://example.com now", f"«https://example.com{mark}")


@pytest.mark.parametrize(
    "placeholder",
    [
        *("{name}", "{{user}}", "${HOME}", "{0}", "%s", "%(count)d", "%1$s", "%.2f", "%1", "%L1", "%n", "@:key"),
        *("%ld", "%lld", "%zu", "%hhd", "%#Lx"),
        *("README.md", "my-file2.tar.gz", "pg_dump", "__init__", "LC_ALL"),
        *("<b>", "</b>", '<x id="1"/>', "&nbsp;", "&#160;", ADDRESS, "www.a.org/b_c", "info@example.org"),
    ],
)
def test_placeholders_have_to_be_kept(placeholder: str) -> None:
    assert not changes_placeholders(f"Hello {placeholder}, you", f"{placeholder} hallo")
    assert not changes_placeholders(f"See {placeholder}.", f"请看{placeholder}。")
    assert changes_placeholders(f"Hello {placeholder}, you", "Hallo du")
    assert changes_placeholders("Hello you", f"Hallo {placeholder}")
    assert changes_placeholders(f"{placeholder} and {placeholder}", f"{placeholder} und")


def test_a_name_in_a_program_stands_in_chinese_without_blanks_and_with_its_brackets() -> None:
    assert not changes_placeholders("Call foo_bar(x) or run() of main.py.", "调用foo_bar(x)或main.py的run（）。")
    assert changes_placeholders("Call run().", "调用runs()。")
    assert not changes_placeholders("Save it as e.g. a.b, x.y.z or 3.14. Really.OK and _File", "保存")


def test_signs_that_look_like_placeholders_are_none() -> None:
    for text in (
        "awww. so",
        "50 % der Leute",
        "50%的人",
        "a < b and c > d",
        "x {",
        "AT&T; {a b}",
        "以{和}为界",
        "集合{a，b}",
        "100% sure",
        "%5 arttı",
        "50%1",
        "um 6 %zu senken",
    ):
        assert not changes_placeholders(text, "")


def test_a_million_letters_are_looked_through_at_once() -> None:
    assert not changes_placeholders("x" * 1_000_000 + " {a}", "{a}")
    assert not changes_placeholders("%" + "0" * 1_000_000 + " {a}", "{a}")


def test_an_address_ends_before_the_full_stop() -> None:
    assert not changes_placeholders(f"See {ADDRESS}.", f"见 {ADDRESS}。")
    assert changes_placeholders(f"See {ADDRESS}.", f"见 {ADDRESS}2。")


@given(st.text(max_size=60))
def test_a_text_beside_itself_has_no_fault(text: str) -> None:
    for language in ("en", "zh", "it"):
        assert check(text, text, src_lang=language, tgt_lang=language) == ()


@given(
    st.text(alphabet="abc {}%d0123 一二三百，", max_size=40), st.text(alphabet="abc {}%d0123 一二三百，", max_size=40)
)
def test_any_two_texts_can_be_checked(source: str, translation: str) -> None:
    found = check(source, translation, src_lang="en", tgt_lang="zh")
    assert set(found) <= {"loop", "numbers", "omission", "placeholders"}


def test_chinese_may_stand_at_an_address_without_a_blank() -> None:
    how = {"src_lang": "en", "tgt_lang": "zh"}
    assert check("Visit https://a.com/b now.", "请访问https://a.com/b查看。", **how) == ()
    assert check("Visit https://a.com/b now.", "请访问https://a.com/c查看。", **how) == ("placeholders",)


def test_a_loop_in_a_script_without_blanks_is_one() -> None:
    for word in ("とても", "わたしはそれが", "แมว"):
        assert "loop" in check("a b c d e f g h i j", word * 20, src_lang="en", tgt_lang="ja")
    assert "loop" not in check("a b c", "これはとてもいいほんです。", src_lang="en", tgt_lang="ja")
    assert n_words("これは本です") == 6


def test_the_language_that_a_model_of_several_is_to_write_is_no_number() -> None:
    assert check("<2de> A dog runs.", "Ein Hund rennt.", src_lang="en", tgt_lang="de") == ()
    assert check("<2de> 7 dogs run.", "Hunde rennen.", src_lang="en", tgt_lang="de") == ("numbers",)


@pytest.mark.parametrize("name", ["⟦2⟧", "{2}"])
def test_the_number_of_a_symbol_or_an_argument_stands_for_no_number(name: str) -> None:
    assert changes_numbers(f"2 dogs see {name}.", f"Hunde sehen {name}.", src_lang="en", tgt_lang="de")
    assert changes_numbers(f"14 dogs see {name}.", f"Hunde sehen {name}.", src_lang="en", tgt_lang="de")
    assert not changes_numbers(f"Dogs see {name}.", f"Hunde sehen {name}.", src_lang="en", tgt_lang="de")
    assert check(f"Dogs see {name}.", "Hunde sehen.", src_lang="en", tgt_lang="de") == ("placeholders",)
